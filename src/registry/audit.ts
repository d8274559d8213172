import type { AuditEntry, NewAuditEntry } from '../domain/audit.ts'
import { safeText } from '../domain/safe-text.ts'
import { type Micros, nowMicros } from '../domain/timestamp.ts'
import type { Store } from '../store/store.ts'

export type AuditOptions = {
  /** Whether writes of sellers are recorded. */
  writes: boolean
  retentionDays: number
  /** Of operators and sellers together: each have a half. */
  maxBytes: number
}

const MICROS_PER_DAY = 86_400_000_000
/** In characters. */
const MAX_TEXT = 500

/** Who did what: acts of operators, and where it is on, writes of sellers. */
export class Audit {
  readonly #store: Pick<Store, 'appendAudit' | 'readAudit'>
  readonly #options: AuditOptions
  readonly #onFault: (entry: NewAuditEntry, cause: unknown) => void

  /** @param onFault an act that was done could not be recorded */
  constructor(
    store: Pick<Store, 'appendAudit' | 'readAudit'>,
    options: AuditOptions,
    onFault: (entry: NewAuditEntry, cause: unknown) => void = () => {},
  ) {
    this.#store = store
    this.#options = options
    this.#onFault = onFault
  }

  /** Never rejects. */
  async record(entry: NewAuditEntry): Promise<void> {
    const { writes, maxBytes } = this.#options
    if (entry.kind === 'seller' && !writes) return
    const subject = safeText(entry.subject.slice(0, MAX_TEXT))
    const bounds = { maxBytes: Math.floor(maxBytes / 2), maxAgeMicros: this.#maxAge }
    try {
      await this.#store.appendAudit({ ...entry, subject }, bounds)
    } catch (cause) {
      this.#onFault(entry, cause)
    }
  }

  /** Oldest first: at most `limit` after `since`, or the latest ones. */
  async read(since: Micros | null, limit: number): Promise<AuditEntry[]> {
    const oldest = nowMicros() - this.#maxAge
    const entries = await this.#store.readAudit(since === null ? null : Math.max(since, oldest), limit)
    return entries.filter(({ at }) => at >= oldest)
  }

  get #maxAge(): Micros {
    return this.#options.retentionDays * MICROS_PER_DAY
  }
}
