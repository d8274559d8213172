import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../../src/config/config.ts'
import { createContext } from '../../../src/context/context.ts'
import { startService } from '../../../src/service.ts'

/**
 * The service in a process of its own, for `attack.ts`: sends its URL, and on each message the memory that it holds. Ends
 * with its parent.
 */
export type VictimSays = { url: string } | { heldBytes: number }

const folder = mkdtempSync(join(tmpdir(), 'entrepot-fuzz-'))
const file = join(folder, 'gateway.toml')
writeFileSync(file, '[limits]\npublish_per_minute = 0\n')
const config = loadConfig({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => name.startsWith('REGISTRY_AUTHORITY_')),
  ),
  PORT: '0',
  STORE_URL: 'sqlite::memory:',
  LOG_LEVEL: 'error',
  ENTREPOT_CONFIG: file,
  REGISTRY_ADMIN_API_KEY: process.env.FUZZ_ADMIN_KEY,
})
rmSync(folder, { recursive: true })
const service = await startService(await createContext(config))

const say = (what: VictimSays): void => void process.send?.(what)

function heldBytes(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

process.on('message', () => say({ heldBytes: heldBytes() }))
process.on('disconnect', () => process.exit(0))
say({ url: service.url })
