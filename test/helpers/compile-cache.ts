import { enableCompileCache } from 'node:module'

// Loaded before every test file. The files share most modules, which are compiled once for all of them.
enableCompileCache()
