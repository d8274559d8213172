import type { IncomingMessage, ServerResponse } from 'node:http'
import { Counter, Histogram, type Registry as MetricsRegistry } from 'prom-client'
import { MinuteCounts } from '../../domain/minutes.ts'
import { recordedStatus } from '../middleware/tracing.ts'
import type { Route } from '../route.ts'
import { BUCKETS } from './metrics.ts'

/** Plain numbers: counting a request is part of answering it from memory. */
type Tally = {
  path: string
  /** Whether it reads or writes the market: pages, probes and admin routes do not. */
  isTraffic: boolean
  counts: Map<string, { method: string; status: number; count: number; add: CountResponse }>
  seconds: number
  buckets: number[]
}

/** `started`: `performance.now()`, in ms. `isRepeated`: from the response cache. */
export type CountResponse = (started: number, isRepeated?: boolean) => void

export class RequestMetrics {
  readonly #fixed = new Map<string, Tally>()
  readonly #open: { prefix: string; suffix: string; tally: Tally }[] = []
  readonly #other = tallyFor({ path: 'other', gate: 'none' })
  /** Of all routes that read or write the market. */
  readonly minutes = new MinuteCounts()

  constructor(registry: MetricsRegistry) {
    this.#register(registry)
  }

  addRoutes(routes: readonly Pick<Route, 'path' | 'gate'>[]): void {
    for (const route of routes) {
      const { path } = route
      const [prefix = '', suffix] = path.split(/[:*]\w+/)
      const isCovered = this.#fixed.has(path) || this.#open.some(({ tally }) => tally.path === path)
      if (isCovered) continue
      if (suffix === undefined) this.#fixed.set(path, tallyFor(route))
      else this.#open.push({ prefix, suffix, tally: tallyFor(route) })
    }
  }

  observer(inFlight: InFlightRequests): (request: IncomingMessage, response: ServerResponse) => void {
    return (request, response) => {
      const started = performance.now()
      inFlight.begin()
      response.once('close', () => {
        inFlight.end()
        this.counter(request, recordedStatus(response))(started)
      })
    }
  }

  /** The function that counts such an answer, valid for the life of the process. */
  readonly counter = ({ url = '', method: sent }: IncomingMessage, status: number): CountResponse => {
    const tally = this.#tallyOf(url)
    const method = METHODS.has(sent) ? sent! : 'other'
    const key = method + status
    const known = tally.counts.get(key)
    if (known !== undefined) return known.add
    const add: CountResponse = (started, isRepeated = false) => {
      const ms = performance.now() - started
      const seconds = ms / 1000
      let bucket = 0
      while (seconds > BUCKETS[bucket]!) bucket++
      counted.count++
      tally.seconds += seconds
      tally.buckets[bucket]!++
      if (!tally.isTraffic) return
      const now = Date.now()
      this.minutes.addRequest(now, ms, status >= 500)
      this.minutes.addLookup(now, isRepeated)
    }
    const counted = { method, status, count: 0, add }
    tally.counts.set(key, counted)
    return add
  }

  /** `null` if no route matches. */
  readonly routeOf = (url: string): string | null => {
    const tally = this.#tallyOf(url)
    return tally === this.#other ? null : tally.path
  }

  #tallyOf(url: string): Tally {
    const query = url.indexOf('?')
    const path = query < 0 ? url : url.slice(0, query)
    const fixed = this.#fixed.get(path) ?? this.#fixed.get(path.replace(/\/$/, ''))
    if (fixed !== undefined) return fixed
    const found = this.#open.find(({ prefix, suffix }) => path.startsWith(prefix) && path.endsWith(suffix))
    return found?.tally ?? this.#other
  }

  #register(registry: MetricsRegistry): void {
    const tallies = (): Tally[] => [
      ...this.#fixed.values(),
      ...this.#open.map(({ tally }) => tally),
      this.#other,
    ]
    new RouteDurations(registry, tallies)
    new Counter({
      name: 'entrepot_requests_total',
      help: 'Requests answered, by route, method and status',
      labelNames: ['route', 'method', 'status'],
      registers: [registry],
      collect() {
        this.reset()
        for (const { path, counts } of tallies())
          for (const { method, status, count } of counts.values())
            this.inc({ route: path, method, status }, count)
      },
    })
  }
}

const tallyFor = ({ path, gate }: Pick<Route, 'path' | 'gate'>): Tally => ({
  path,
  isTraffic: gate === 'read' || gate === 'write',
  counts: new Map(),
  seconds: 0,
  buckets: Array(BUCKETS.length + 1).fill(0),
})

const DURATION = 'entrepot_request_duration_seconds'

/** prom-client's own histogram allocates two objects and a key for every observation. */
class RouteDurations extends Histogram<'route'> {
  readonly #tallies: () => Tally[]

  constructor(registry: MetricsRegistry, tallies: () => Tally[]) {
    super({
      name: DURATION,
      help: 'Time until the response was sent, by route',
      labelNames: ['route'],
      buckets: BUCKETS,
      registers: [registry],
    })
    this.#tallies = tallies
  }

  /** Called by prom-client. */
  async getForPromString() {
    const values = this.#tallies().flatMap(({ path: route, seconds, buckets }) => {
      let count = 0
      const bounds = buckets.map((ofBucket, n) => {
        count += ofBucket
        const le = BUCKETS[n] ?? '+Inf'
        return { metricName: `${DURATION}_bucket`, labels: { le, route }, value: count }
      })
      if (count === 0) return []
      const labels = { route }
      return [
        ...bounds,
        { metricName: `${DURATION}_sum`, labels, value: seconds },
        { metricName: `${DURATION}_count`, labels, value: count },
      ]
    })
    return { name: DURATION, help: 'Time until the response was sent, by route', type: 'histogram', values }
  }
}

/** Unknown methods share one label: bounded cardinality. */
const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'])

/** Requests in flight keep a replaced configuration open. */
export class InFlightRequests {
  #count = 0
  #onIdle: (() => void)[] = []

  begin(): void {
    this.#count++
  }

  end(): void {
    this.#count--
    if (this.#count > 0) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve()
      else this.#onIdle.push(resolve)
    })
  }
}
