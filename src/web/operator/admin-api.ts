import type { ApiKeyJson, MintedKeyJson } from '../../wire/api-key.ts'
import type { FleetJson } from '../../wire/fleet.ts'
import type { SourceDetailsJson } from '../../wire/source.ts'
import { request } from '../common/gateway.ts'
import type { KeyRequest } from './keys/new-keys.ts'

export type AdminApi = {
  fleet: (signal: AbortSignal) => Promise<FleetJson>
  refresh: (registry: string, signal: AbortSignal) => Promise<void>
  /** Its state afterwards. */
  probe: (registry: string, signal: AbortSignal) => Promise<SourceDetailsJson>
  keys: (signal: AbortSignal) => Promise<readonly ApiKeyJson[]>
  mint: (wanted: KeyRequest, signal: AbortSignal) => Promise<MintedKeyJson>
  revoke: (id: number, signal: AbortSignal) => Promise<void>
}

/** Every call rejects as `request` does. */
export function createAdminApi(key: string): AdminApi {
  const send = (method: 'GET' | 'POST' | 'DELETE', path: string, signal: AbortSignal, body?: object) =>
    request(path, key, { signal, method, body: body && JSON.stringify(body) })
  return {
    fleet: async (signal) => readJson(await send('GET', 'admin/replicas', signal)),
    probe: async (registry, signal) =>
      readJson(await send('POST', `admin/sources/${encodeURIComponent(registry)}/probe`, signal)),
    refresh: async (registry, signal) => {
      await send('POST', `admin/sources/${encodeURIComponent(registry)}/refresh`, signal)
    },
    keys: async (signal) => readJson(await send('GET', 'admin/api-keys', signal)),
    mint: async ({ name, scope, expiresInDays }, signal) =>
      readJson(await send('POST', 'admin/api-keys', signal, { name, scope, expires_in_days: expiresInDays })),
    revoke: async (id, signal) => {
      await send('DELETE', `admin/api-keys/${id}`, signal)
    },
  }
}

/** Unchecked: the gateway's own answers to its operator. */
const readJson = <T>(bytes: Uint8Array): T => JSON.parse(new TextDecoder().decode(bytes))
