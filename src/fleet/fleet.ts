import type { Clock } from '../domain/clock.ts'
import type { SourceDetails, SourceStatus } from '../domain/source/source-status.ts'
import type { FleetJson } from '../wire/fleet.ts'
import { mergeReports } from './merge-reports.ts'
import type { ReportStorage } from './redis-reports.ts'
import type { ReplicaReport } from './report.ts'
import { StateLog } from './state-log.ts'

const OBSERVE_EVERY_MS = 1000
const SAVE_EVERY_MS = 5000

type Status = SourceStatus | SourceDetails

/** Of this process, read whenever it is reported. */
type OwnState = Pick<ReplicaReport, 'reload' | 'minutes' | 'watchers' | 'inconsistencies'> & {
  statuses: readonly Status[]
}

type FleetOptions = Pick<ReplicaReport, 'id' | 'version' | 'startedAt'> & {
  /** A string: only this process is shown, for this reason. */
  storage: ReportStorage | string
  describe: (status: Status) => ReplicaReport['sources'][number]['details']
  clock: Pick<Clock, 'now' | 'monotonic'>
  saveEveryMs?: number | undefined
}

/** Saves reports of this process, and shows all replicas as one. No failure of the storage leaves this class. */
export class Fleet {
  readonly #options: FleetOptions
  readonly #storage: ReportStorage | null
  readonly #log = new StateLog()
  #readState: (() => OwnState) | null = null
  #timers: NodeJS.Timeout[] = []
  #saving: Promise<void> | null = null

  constructor(options: FleetOptions) {
    this.#options = options
    this.#storage = typeof options.storage === 'string' ? null : options.storage
  }

  start(readState: () => OwnState): void {
    this.#readState = readState
    const every = (ms: number, act: () => unknown) => setInterval(act, ms).unref()
    const { saveEveryMs = SAVE_EVERY_MS } = this.#options
    this.#timers = [every(OBSERVE_EVERY_MS, () => this.#observe()), every(saveEveryMs, () => this.#save())]
    this.#observe()
    this.#save()
  }

  /** Before `start`, without any replica. */
  async read(): Promise<FleetJson> {
    const { id, storage, clock } = this.#options
    this.#observe()
    const report = this.#report()
    const otherReports = (await this.#storage?.read(id).catch(() => null)) ?? null
    return {
      at: new Date(clock.now()).toISOString(),
      answered_by: id,
      scope: otherReports === null ? 'this_process' : 'all',
      note: otherReports !== null ? null : typeof storage === 'string' ? storage : AWAY,
      ...mergeReports(
        [...(report === null ? [] : [{ report, ageSeconds: 0 }]), ...(otherReports ?? [])],
        clock.monotonic(),
      ),
    }
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#saving
    await this.#storage?.remove(this.#options.id).catch(ignore)
  }

  #observe(): void {
    if (this.#readState !== null) this.#log.observe(this.#readState().statuses, this.#options.clock.now())
  }

  /** One at a time: while Redis hangs, reports do not pile up. */
  #save(): void {
    const storage = this.#storage
    if (storage === null || this.#readState === null || this.#saving !== null) return
    this.#saving = this.#saveTo(storage)
      .catch(ignore)
      .finally(() => {
        this.#saving = null
      })
  }

  async #saveTo(storage: ReportStorage): Promise<void> {
    const report = this.#report()
    if (report !== null) await storage.save(report)
  }

  #report(): ReplicaReport | null {
    if (this.#readState === null) return null
    const { id, version, startedAt, describe } = this.#options
    const { statuses, ...state } = this.#readState()
    const sources = statuses.map((status) => ({
      details: describe(status),
      minutes: 'minutes' in status ? status.minutes : [],
    }))
    return { id, version, startedAt, ...state, sources, changes: this.#log.changes }
  }
}

const AWAY = 'Redis does not answer, so the other replicas are not shown.'

/** The store logs when Redis is away; the next save tries again. */
function ignore(): void {}
