import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { loadConfig } from '../../src/config/config.ts'
import { type Context, createContext } from '../../src/context/context.ts'
import type { Overrides } from '../../src/context/process.ts'
import { recoverAddress } from '../../src/registry/signature/recover-address.ts'
import { startService } from '../../src/service.ts'
import { type RunningService, send } from './registry.ts'

export type Reloadable = RunningService & {
  context: Context
  /** Reloads with this gateway file. */
  reload: (toml: string) => Promise<void>
}

/** The real service with a store in memory and a replaceable gateway file, closed when the test ends. */
export async function startReloadable(
  t: ExecutionContext,
  toml: string,
  {
    environment,
    stalledMs,
    ...overrides
  }: Overrides & { environment?: Record<string, string>; stalledMs?: number } = {},
): Promise<Reloadable> {
  const folder = mkdtempSync(join(tmpdir(), 'entrepot-'))
  const file = join(folder, 'gateway.toml')
  writeFileSync(file, toml)
  const load = () =>
    loadConfig({
      PORT: '0',
      STORE_URL: 'sqlite::memory:',
      LOG_LEVEL: 'silent',
      METRICS_PUBLIC: 'true',
      ENTREPOT_CONFIG: file,
      ...environment,
    })
  const context = await createContext(load(), { recover: recoverAddress, ...overrides })
  const service = await startService(context, { stalledMs })
  t.teardown(async () => {
    await service.close()
    rmSync(folder, { recursive: true })
  })
  return {
    url: service.url,
    get: (path, headers = {}) => send(`${service.url}${path}`, { headers }),
    context,
    reload: (next) => {
      writeFileSync(file, next)
      return context.reload(load)
    },
  }
}
