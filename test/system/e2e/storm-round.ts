import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { renderListing } from '../../../src/domain/listing.ts'
import type { Store } from '../../../src/store/store.ts'
import type { OwnRedis } from '../../helpers/redis.ts'
import { killWhileStarting, type ServiceProcess, startProcess } from '../../helpers/service-process.ts'
import { Picture } from '../../helpers/store/picture.ts'
import { beforePoll } from './before-poll.ts'
import { type ListingBody, readAll } from './read-all.ts'
import { SELLERS, Storm, WRITERS_PER_TARGET } from './storm.ts'
import { ServiceAddress } from './target.ts'

/** The result of a storm of publishes with killed processes. `faults` should be empty. */
export type StormOutcome = {
  kills: number
  acknowledged: number
  /** Requests that were repeated after a kill or without a store. */
  repeated: number
  listings: number
  faults: readonly string[]
}

/** Publishes between two kills. */
const MAX_BETWEEN = 25
/** Random delay, so that a kill may happen at any moment. */
const MAX_DELAY_MS = 20
/** Share of kills after which the next process is killed while it starts. */
const SHARE_STARTING = 0.5

/** Processes on one store, a storm of publishes over them, and their killer. */
export class StormRound {
  readonly #storm = new Storm()
  readonly #processes = new Map<ServiceAddress, ServiceProcess>()
  readonly #faults: string[] = []
  readonly #storeUrl: string
  readonly #environment: Record<string, string>
  #kills = 0
  /** Duration of the latest start. */
  #startMs = 0

  constructor(storeUrl: string, folder: string) {
    const file = join(folder, 'gateway.toml')
    writeFileSync(
      file,
      '[registry]\nlisting_shape = "off"\n[limits]\npublish_per_minute = 0\nlistings_per_publisher = 0\n',
    )
    this.#storeUrl = storeUrl
    this.#environment = { ENTREPOT_CONFIG: file, LOG_LEVEL: 'info' }
  }

  addTarget(): ServiceAddress {
    const target = new ServiceAddress()
    this.#storm.publishTo(target)
    return target
  }

  /** Until this number of kills in all, of which one cut a request; ends with a running process. */
  async killAgainAndAgain(target: ServiceAddress, kills: number, isOver: () => boolean): Promise<void> {
    await this.start(target)
    while ((this.#kills < kills || this.#storm.repeated === 0) && !isOver()) await this.killAndStart(target)
  }

  /** Starts a process, which has to have everything acknowledged before. */
  async start(target: ServiceAddress): Promise<void> {
    const expected = this.#storm.acknowledgedVersions()
    const begun = performance.now()
    const process = await startProcess(this.#storeUrl, this.#environment)
    this.#startMs = performance.now() - begun
    this.#processes.set(target, process)
    this.#faults.push(...this.#storm.faultsIn(await readAll(process.url), expected))
    target.up(process.url)
  }

  async killAndStart(target: ServiceAddress): Promise<void> {
    await target.acknowledged(1 + Math.floor(Math.random() * MAX_BETWEEN))
    await setTimeout(Math.random() * MAX_DELAY_MS)
    target.down()
    await this.#processes.get(target)?.end('SIGKILL')
    this.#kills++
    if (Math.random() < SHARE_STARTING) {
      await killWhileStarting(this.#storeUrl, this.#environment, Math.random() * this.#startMs)
      this.#kills++
    }
    await this.start(target)
  }

  /** The processes continue, and have to have everything once they acknowledge again. */
  async killRedis(redis: OwnRedis): Promise<void> {
    const targets = [...this.#processes.keys()]
    await Promise.all(
      targets.map((target) => target.acknowledged(1 + Math.floor(Math.random() * MAX_BETWEEN))),
    )
    await setTimeout(Math.random() * MAX_DELAY_MS)
    await redis.end('SIGKILL')
    this.#kills++
    const expected = this.#storm.acknowledgedVersions()
    // One answer may still be in flight after Redis has confirmed it, so one more is awaited.
    const again = targets.map((target) => target.acknowledged(WRITERS_PER_TARGET + 1))
    await redis.start()
    await Promise.all(again)
    for (const { url } of this.#processes.values())
      this.#faults.push(...this.#storm.faultsIn(await readAll(url), expected))
  }

  /** At the end every process, a new one included, has what the store has. */
  async end(open: () => Promise<Store>): Promise<StormOutcome> {
    await this.#storm.calm()
    const expected = this.#storm.acknowledgedVersions()
    const store = await open()
    const { publishers, listings } = await Picture.of(store)
    await store.close()
    const kept = new Map<string, ListingBody>()
    for (const record of listings.values()) {
      const url = publishers.get(record.publisherId)?.storefrontUrl ?? null
      kept.set(record.listingId, JSON.parse(renderListing(record, url)))
    }
    if (publishers.size > SELLERS) this.#faults.push(`${publishers.size} publishers and not ${SELLERS}`)
    this.#faults.push(...this.#storm.faultsIn(kept, expected))
    this.#processes.set(new ServiceAddress(), await startProcess(this.#storeUrl, this.#environment))
    for (const process of this.#processes.values()) {
      const shown = await beforePoll(async () => isDeepStrictEqual(await readAll(process.url), kept))
      if (!shown) this.#faults.push(`${process.url} shows other listings than the store holds`)
      const code = await process.end('SIGTERM')
      if (code !== 0) this.#faults.push(`SIGTERM ended a process with ${code}`)
    }
    return {
      kills: this.#kills,
      acknowledged: this.#storm.acknowledged,
      repeated: this.#storm.repeated,
      listings: kept.size,
      faults: [...this.#faults, ...this.#storm.faults],
    }
  }

  /** Stops everything, after success and failure. */
  async dispose(): Promise<void> {
    this.#storm.abort()
    await Promise.all(Array.from(this.#processes.values(), (process) => process.end('SIGKILL')))
  }
}
