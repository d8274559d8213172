import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { Clock } from '../../domain/clock.ts'

const FRESH_MS = 10_000
/** After this, a connection uses the last known addresses. */
const PATIENCE_MS = 200
const HANGING_MS = 1000

/**
 * Uses the system's resolver, for `/etc/hosts` and search domains. A silent name server holds one of its two
 * threads for many seconds. So a name has one lookup at a time, and only one hung name is looked up at a
 * time.
 */
export class NameResolver {
  readonly #clock: Clock
  readonly #resolve: LookupFunction
  readonly #names = new Map<string, Name>()
  readonly #hanging = new Set<Name>()
  readonly #waiting: (() => void)[] = []

  constructor(clock: Clock, resolve: LookupFunction = systemLookup as LookupFunction) {
    this.#clock = clock
    this.#resolve = resolve
  }

  readonly lookup: LookupFunction = (hostname, options, callback) => {
    const name = this.#names.get(hostname) ?? new Name()
    this.#names.set(hostname, name)
    const answer = (): void => {
      const { error, addresses } = name.last!
      const family = Number(options.family ?? 0)
      const usable = family === 0 ? addresses : addresses.filter((one) => one.family === family)
      const [first] = usable
      if (first === undefined) callback(error ?? notFound(hostname), options.all ? [] : '')
      else if (options.all) callback(null, usable)
      else callback(null, first.address, first.family)
    }
    const isKnown = name.last?.error === null
    if (isKnown && this.#clock.monotonic() - name.resolvedAt < FRESH_MS) return process.nextTick(answer)
    name.listeners.add(answer)
    if (!name.isRunning) this.#begin(hostname, name)
    if (isKnown) this.#clock.after(PATIENCE_MS, () => name.listeners.delete(answer) && answer())
  }

  #begin(hostname: string, name: Name): void {
    name.isRunning = true
    if (name.hung && this.#hanging.size > 0) this.#waiting.push(() => this.#run(hostname, name))
    else this.#run(hostname, name)
  }

  #run(hostname: string, name: Name): void {
    if (name.hung) this.#hanging.add(name)
    const cancel = this.#clock.after(HANGING_MS, () => {
      name.hung = true
      this.#hanging.add(name)
    })
    this.#resolve(hostname, { all: true }, (error, result) => {
      const wasHanging = this.#hanging.delete(name)
      cancel()
      name.isRunning = false
      if (!wasHanging || error === null) name.hung = false
      const addresses = error === null && Array.isArray(result) ? result : []
      // A silent name server does not displace known addresses.
      if (error === null || error.code === 'ENOTFOUND' || name.last?.error !== null) {
        name.last = { error, addresses }
        name.resolvedAt = this.#clock.monotonic()
      }
      const answers = [...name.listeners]
      name.listeners.clear()
      for (const answer of answers) answer()
      if (this.#hanging.size === 0) this.#waiting.shift()?.()
    })
  }
}

class Name {
  last: { error: NodeJS.ErrnoException | null; addresses: LookupAddress[] } | null = null
  resolvedAt = 0
  isRunning = false
  hung = false
  readonly listeners = new Set<() => void>()
}

function notFound(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' })
}
