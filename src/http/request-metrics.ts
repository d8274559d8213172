import type { IncomingMessage, RequestListener } from 'node:http'
import { Counter, Histogram, type Registry as MetricsRegistry } from 'prom-client'
import type { InFlightRequests } from './in-flight-requests.ts'
import { recordedStatus } from './recorded-status.ts'
import type { Route } from './route.ts'

/** Seconds; hot answers are below the first, a whole budget is near the last. */
const BUCKETS = [0.001, 0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10]

/** What one route has answered. Its own numbers, so that counting a request makes nothing. */
type Tally = {
  path: string
  counts: Map<string, { method: string; status: number; count: number }>
  observe: (seconds: number) => void
}

/** `started`: milliseconds, as `performance.now()` tells them. */
export type CountAnswer = (started: number) => void

/** Requests by route, method and status, and how long they took, for `GET /metrics`. */
export class RequestMetrics {
  readonly #fixed = new Map<string, Tally>()
  readonly #open: { prefix: string; suffix: string; tally: Tally }[] = []
  readonly #other: Tally
  readonly #tallyFor: (path: string) => Tally

  constructor(registry: MetricsRegistry) {
    const duration = new Histogram({
      name: 'entrepot_request_duration_seconds',
      help: 'Time until an answer was sent, by route',
      labelNames: ['route'],
      buckets: BUCKETS,
      registers: [registry],
    })
    this.#tallyFor = (path) => {
      const { observe } = duration.labels(path)
      return { path, counts: new Map(), observe }
    }
    this.#other = this.#tallyFor('other')
    this.#register(registry)
  }

  /** Counts these routes by their own names from now on; what was counted before stays. */
  cover(routes: readonly Pick<Route, 'path'>[]): void {
    for (const { path } of routes) {
      const [prefix = '', suffix] = path.split(/[:*]\w+/)
      const isCovered = this.#fixed.has(path) || this.#open.some(({ tally }) => tally.path === path)
      if (isCovered) continue
      if (suffix === undefined) this.#fixed.set(path, this.#tallyFor(path))
      else this.#open.push({ prefix, suffix, tally: this.#tallyFor(path) })
    }
  }

  /** Counts requests when they end, and until then as in flight. */
  listener(inner: RequestListener, inFlight: InFlightRequests): RequestListener {
    return (request, response) => {
      const started = performance.now()
      inFlight.begin()
      response.once('close', () => {
        inFlight.end()
        this.counter(request, recordedStatus(response))(started)
      })
      inner(request, response)
    }
  }

  /** What counts one more answer of that status to that question, told when it began. Good for as long as the process. */
  readonly counter = ({ url = '', method: sent }: IncomingMessage, status: number): CountAnswer => {
    const tally = this.#tallyOf(url)
    const method = METHODS.has(sent) ? sent! : 'other'
    const key = method + status
    const counted = tally.counts.get(key) ?? { method, status, count: 0 }
    tally.counts.set(key, counted)
    return (started) => {
      counted.count++
      tally.observe((performance.now() - started) / 1000)
    }
  }

  /** The route that a target is of; `null` where it is none. */
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

/** Unknown methods share one label, so that their number is bounded. */
const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'])
