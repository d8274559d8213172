import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { renderListing } from '../../src/domain/listing.ts'
import type { Store } from '../../src/store/store.ts'
import type { OwnRedis } from '../helpers/redis.ts'
import { Picture } from '../store/contract/picture.ts'
import { type ListingBody, readAll } from './read-all.ts'
import { killWhileStarting, type ServiceProcess, startProcess } from './service-process.ts'
import { SELLERS, Storm, WRITERS_PER_TARGET } from './storm.ts'
import { ServiceAddress } from './target.ts'
import { withinASecond } from './within.ts'

/** What became of a storm of publishes during which processes were killed. `faults` should be empty. */
export type StormOutcome = {
  kills: number
  acknowledged: number
  /** Requests that were sent again because a kill had cut them, or the store was away. */
  repeated: number
  listings: number
  faults: readonly string[]
}

/** Most publishes between two kills. */
const MOST_BETWEEN = 25
/** After the last of them, so that a kill meets any moment of the next. */
const MOST_DELAY_MS = 20
/** How often the next process is killed, too, before it has come up. */
const SHARE_STARTING = 0.5

/** Processes on one store, a storm of publishes over them, and their killer. */
export class StormRound {
  readonly #storm = new Storm()
  readonly #processes = new Map<ServiceAddress, ServiceProcess>()
  readonly #faults: string[] = []
  readonly #storeUrl: string
  readonly #environment: Record<string, string>
  #kills = 0
  /** How long the last start took. */
  #startMs = 0

  constructor(storeUrl: string, folder: string) {
    const file = join(folder, 'gateway.toml')
    writeFileSync(file, '[registry]\nlisting_shape = "off"\n[limits]\npublish_per_minute = 0\n')
    this.#storeUrl = storeUrl
    this.#environment = { ENTREPOT_CONFIG: file, LOG_LEVEL: 'info' }
  }

  addTarget(): ServiceAddress {
    const target = new ServiceAddress()
    this.#storm.publishTo(target)
    return target
  }

  /** Until so many kills were done in all; ends with the target up. */
  async killAgainAndAgain(target: ServiceAddress, kills: number, isOver: () => boolean): Promise<void> {
    await this.start(target)
    while (this.#kills < kills && !isOver()) await this.killAndStart(target)
  }

  /** Starts a process, which has to have everything that was acknowledged before. */
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
    await target.acknowledged(1 + Math.floor(Math.random() * MOST_BETWEEN))
    await setTimeout(Math.random() * MOST_DELAY_MS)
    target.down()
    await this.#processes.get(target)?.end('SIGKILL')
    this.#kills++
    if (Math.random() < SHARE_STARTING) {
      await killWhileStarting(this.#storeUrl, this.#environment, Math.random() * this.#startMs)
      this.#kills++
    }
    await this.start(target)
  }

  /** The processes live on, and have to have everything as soon as they acknowledge again. */
  async killRedis(redis: OwnRedis): Promise<void> {
    const targets = [...this.#processes.keys()]
    await Promise.all(
      targets.map((target) => target.acknowledged(1 + Math.floor(Math.random() * MOST_BETWEEN))),
    )
    await setTimeout(Math.random() * MOST_DELAY_MS)
    await redis.end('SIGKILL')
    this.#kills++
    const expected = this.#storm.acknowledgedVersions()
    // An answer may still be on its way from a process that had its own from Redis, and counts for both.
    const again = targets.map((target) => target.acknowledged(WRITERS_PER_TARGET + 1))
    await redis.start()
    await Promise.all(again)
    for (const { url } of this.#processes.values())
      this.#faults.push(...this.#storm.faultsIn(await readAll(url), expected))
  }

  /** When all is quiet, every process has the same as the store, and one that starts now, too. */
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
      const shown = await withinASecond(async () => isDeepStrictEqual(await readAll(process.url), kept))
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

  /** Leaves nothing running, however it went. */
  async dispose(): Promise<void> {
    this.#storm.abort()
    await Promise.all(Array.from(this.#processes.values(), (process) => process.end('SIGKILL')))
  }
}
