import { Counter, Histogram, type Registry as MetricsRegistry } from 'prom-client'
import { systemClock } from '../../domain/clock.ts'
import { MinuteCounts } from '../../domain/minutes.ts'
import { routePathOf } from '../middleware/router.ts'
import { recordedStatus } from '../middleware/tracing.ts'
import type { Middleware } from '../request-state.ts'
import { BUCKETS } from './metrics.ts'

/** Counts each request, and how long its answer took, once it is sent or the connection is closed. */
export function countRequests(metrics: RequestMetrics, inFlight = new InFlightRequests()): Middleware {
  return (context, next) => {
    const started = performance.now()
    inFlight.begin()
    context.res.once('close', () => {
      inFlight.end()
      const { req, res, state } = context
      const gate = state.route?.gate
      metrics.count({
        path: routePathOf(context) ?? 'other',
        method: req.method!,
        status: recordedStatus(res),
        ms: performance.now() - started,
        isTraffic: gate === 'read' || gate === 'write',
        isWatch: state.response?.isWatch === true,
      })
    })
    return next()
  }
}

type CountedRequest = {
  path: string
  method: string
  status: number
  ms: number
  /** Whether it reads or writes the market: pages, probes and admin routes do not. */
  isTraffic: boolean
  /** Whether it has waited for changes, which is no latency. */
  isWatch?: boolean
}

/** The requests of one route in plain numbers: counting is part of answering from memory. */
type Tally = {
  path: string
  counts: Map<string, { method: string; status: number; count: number }>
  seconds: number
  buckets: number[]
}

export class RequestMetrics {
  readonly #tallies = new Map<string, Tally>()
  /** Of all routes that read or write the market. */
  readonly minutes = new MinuteCounts()

  constructor(registry: MetricsRegistry) {
    this.#register(registry)
  }

  count({ path, method: sent, status, ms, isTraffic, isWatch = false }: CountedRequest): void {
    const tally = this.#tallyOf(path)
    const method = METHODS.has(sent) ? sent : 'other'
    const seconds = ms / 1000
    let bucket = 0
    while (seconds > BUCKETS[bucket]!) bucket++
    if (!isWatch) {
      tally.seconds += seconds
      tally.buckets[bucket]!++
    }
    const key = method + status
    const counted = tally.counts.get(key)
    if (counted === undefined) tally.counts.set(key, { method, status, count: 1 })
    else counted.count++
    if (isTraffic && !isWatch) this.minutes.addRequest(systemClock.monotonic(), ms, status >= 500)
  }

  /** Counts a read, and whether the response cache answered it. */
  readonly countLookup = (isHit: boolean): void => this.minutes.addLookup(systemClock.monotonic(), isHit)

  #tallyOf(path: string): Tally {
    const tally = this.#tallies.get(path)
    if (tally !== undefined) return tally
    const added = { path, counts: new Map(), seconds: 0, buckets: Array(BUCKETS.length + 1).fill(0) }
    this.#tallies.set(path, added)
    return added
  }

  #register(registry: MetricsRegistry): void {
    const tallies = (): Tally[] => [...this.#tallies.values()]
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
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'])

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
