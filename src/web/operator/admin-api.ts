import { ask } from '../common/ask.ts'
import { RequestFault } from '../common/request-fault.ts'

/** A source as `GET /admin/sources` tells it; the local Registry is never called. */
export type AdminSource = {
  registry: string
  mode: 'local' | 'live' | 'snapshot'
  visibility: 'public' | 'private'
  state: 'loaded' | 'stale' | 'unavailable' | 'not_yet_loaded'
  age_seconds: number | null
  last_error: { reason: string; at: string } | null
  listings: number | null
  breaker?: { state: 'closed' | 'open' | 'half_open'; failures_in_a_row: number; retry_at: string | null }
  cache?: { fresh: number; stale: number; miss: number; bytes: number }
  calls?: {
    made: number
    failed: number
    retried: number
    failures_by_reason: Readonly<Record<string, number>>
    ended: number
    elapsed_ms: number
  }
}

export type KeyScope = 'read' | 'write'

export type ApiKey = {
  id: number
  name: string
  scope: KeyScope
  created_at: string
  revoked_at: string | null
}

/** `key` is the raw key, which is told this once. */
export type MintedKey = ApiKey & { key: string }

export type AdminApi = {
  /** `null` at a plain Registry, which has no upstreams. */
  sources: (signal: AbortSignal) => Promise<readonly AdminSource[] | null>
  refresh: (registry: string, signal: AbortSignal) => Promise<void>
  keys: (signal: AbortSignal) => Promise<readonly ApiKey[]>
  mint: (name: string, scope: KeyScope, signal: AbortSignal) => Promise<MintedKey>
  revoke: (id: number, signal: AbortSignal) => Promise<void>
}

/** The operator's routes, asked with her key. Each rejects as `ask` does. */
export const adminApi = (key: string): AdminApi => {
  const send = (method: 'GET' | 'POST' | 'DELETE', address: string, signal: AbortSignal, body?: unknown) =>
    ask({ address, key, signal, method, ...(body === undefined ? {} : { body }) })
  return {
    sources: async (signal) => {
      try {
        return readJson<{ sources: AdminSource[] }>(await send('GET', 'admin/sources', signal)).sources
      } catch (error) {
        if (error instanceof RequestFault && error.status === 404) return null
        throw error
      }
    },
    refresh: async (registry, signal) => {
      await send('POST', `admin/sources/${encodeURIComponent(registry)}/refresh`, signal)
    },
    keys: async (signal) => readJson(await send('GET', 'admin/api-keys', signal)),
    mint: async (name, scope, signal) =>
      readJson(await send('POST', 'admin/api-keys', signal, { name, scope })),
    revoke: async (id, signal) => {
      await send('DELETE', `admin/api-keys/${id}`, signal)
    },
  }
}

/** The gateway's own answers to its operator: their shapes are those of its interface. */
const readJson = <T>(bytes: Uint8Array): T => JSON.parse(new TextDecoder().decode(bytes))
