import { declareGroup } from './groups.ts'

declareGroup(import.meta.filename)
