import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { loadConfig } from '../../src/config/config.ts'
import { type Context, createContext } from '../../src/context/context.ts'
import type { Overrides } from '../../src/context/process.ts'
import { startService } from '../../src/service.ts'

export type RunningService = {
  url: string
  get: (path: string, headers?: Record<string, string>) => Promise<Reply>
  context: Context
  setGatewayFile: (toml: string) => void
  /** Reloads with this gateway file. */
  reload: (toml: string) => Promise<void>
}
export type Reply = { status: number; headers: Headers; text: string; json: () => Record<string, unknown> }

export type RegistryOptions = Overrides & {
  environment?: Record<string, string>
  toml?: string
  stalledMs?: number
  headersMs?: number
  /** Whether to wait until each upstream was pulled or has failed (default). */
  isLoaded?: boolean
}

/** A test, or another owner with a teardown. */
export type Teardown = Pick<ExecutionContext, 'teardown'>

/** An owner of what is closed before its test ends, or then. */
export function closable(t: Teardown): Teardown & { close: () => Promise<void> } {
  const closers: (() => unknown)[] = []
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0)) await end()
  }
  t.teardown(close)
  return { teardown: (end: () => unknown) => void closers.unshift(end), close }
}

/** The real service on a free port with a store in memory, closed when the test ends. */
export async function startRegistry(
  t: Teardown,
  { environment, toml = '', stalledMs, headersMs, isLoaded = true, ...overrides }: RegistryOptions = {},
): Promise<RunningService> {
  const folder = await mkdtemp(join(tmpdir(), 'entrepot-'))
  const file = join(folder, 'gateway.toml')
  const setGatewayFile = (next: string): void => writeFileSync(file, next)
  setGatewayFile(toml)
  const load = () =>
    loadConfig({
      PORT: '0',
      STORE_URL: 'sqlite::memory:',
      LOG_LEVEL: 'silent',
      ENTREPOT_CONFIG: file,
      ...environment,
    })
  const context = await createContext(load(), { load, ...overrides })
  const service = await startService(context, { stalledMs, headersMs })
  t.teardown(async () => {
    await service.close()
    await rm(folder, { recursive: true })
  })
  if (isLoaded) await context.ready
  return {
    url: service.url,
    get: (path, headers = {}) => send(`${service.url}${path}`, { headers }),
    context,
    setGatewayFile,
    reload: async (next) => {
      setGatewayFile(next)
      await context.reload()
    },
  }
}

/** Of a service whose REGISTRY_ADMIN_API_KEY is `admin`. */
export const ADMIN = { Authorization: 'Bearer admin' }

export async function send(url: string, init: RequestInit = {}): Promise<Reply> {
  const response = await fetch(url, { redirect: 'manual', ...init })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) }
}
