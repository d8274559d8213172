import { AUDIT_KINDS, type AuditBounds, type AuditEntry, type NewAuditEntry } from '../../domain/audit.ts'
import type { Micros } from '../../domain/timestamp.ts'
import { MAX_AUDIT_DROPS } from '../store.ts'
import { type RedisSession, readScript, type ScriptArguments } from './session.ts'

/** The audit log in Redis, under keys of its own, which older versions leave alone. */
export class RedisAudit {
  readonly #session: RedisSession

  constructor(session: RedisSession) {
    this.#session = session
  }

  async append(entry: NewAuditEntry, { maxBytes, maxAgeMicros }: AuditBounds): Promise<AuditEntry> {
    const { kind, ...rest } = entry
    const number = AUDIT_KINDS.indexOf(kind) + 1
    const content = JSON.stringify(rest)
    const at = await this.#call('append', [number, content, maxBytes, maxAgeMicros, MAX_AUDIT_DROPS])
    return { ...entry, at: Number(at) }
  }

  /** Both kinds in one step: no later entry hides an earlier one. */
  async read(since: Micros | null, limit: number): Promise<AuditEntry[]> {
    const answer = (await this.#call('read', [since ?? '', limit])) as string[]
    const entries: AuditEntry[] = []
    for (let n = 0; n < answer.length; n += 3) {
      const kind = AUDIT_KINDS[Number(answer[n]) - 1]!
      entries.push({ ...JSON.parse(answer[n + 2]!), at: Number(answer[n + 1]), kind })
    }
    entries.sort((a, b) => a.at - b.at)
    return since === null ? entries.slice(-limit) : entries.slice(0, limit)
  }

  #call(command: string, args: ScriptArguments): Promise<unknown> {
    const { audit, sellerAudit } = this.#session.keys
    return this.#session.evaluate(SCRIPT, [audit, sellerAudit], [command, ...args])
  }
}

const SCRIPT = readScript('audit.lua')
