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
