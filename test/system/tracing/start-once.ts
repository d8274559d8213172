import { createRequire } from 'node:module'
import { loadConfig } from '../../../src/config/config.ts'
import { createContext } from '../../../src/context/context.ts'

// A process that puts the service together and prints which packages of OpenTelemetry it has loaded for that.
const config = loadConfig({ ...process.env, STORE_URL: 'sqlite::memory:', ENTREPOT_CONFIG: '/dev/null' })
const context = await createContext(config)
const modules = Object.keys(createRequire(import.meta.url).cache)
const loaded = modules.flatMap((path) => /node_modules\/(@opentelemetry\/[^/]+)/.exec(path)?.[1] ?? [])
process.stdout.write(JSON.stringify([...new Set(loaded)]))
await context.close()
