import { type Handler, json } from './exchange.ts'

/** `GET /health`: liveness, by the store and never by upstreams (`protocol.md` 1.11, `contract.md` 3.2). */
export const getHealth =
  (store: { ping(): Promise<void> }): Handler =>
  async () => {
    try {
      await store.ping()
      return json({ status: 'ok', checks: { api: 'ok', database: 'ok' } })
    } catch (cause) {
      const { message } = cause as Error
      return json({ status: 'degraded', checks: { api: 'ok', database: `error: ${message}` } }, 503)
    }
  }
