import {
  type Answer,
  type Asking,
  askOne,
  askPage,
  askStream,
  type FoundOne,
  type Page,
  type Question,
  Refused,
} from './ask.ts'
import { describeAnswer } from './describe.ts'
import { judge, judgeOne } from './oracle.ts'
import type { Random } from './random.ts'
import { SPEC_KINDS } from './scripted-registry.ts'
import { startWorld, type World } from './world.ts'

type RunOutcome = {
  answers: number
  /** Listings that had to be shown in them. */
  required: number
  /** Answers that were compared with the model from end to end. */
  exact: number
  /** Requests that the Registries were sent. */
  requests: number
  /** What was wrong with the first answer that was, and what it was made of; empty where all were right. */
  faults: readonly string[]
}

/** Reads one world until so many answers are judged, one is wrong, or `isOver`. */
export async function runWorld(
  seed: number,
  answers: number,
  isOver: () => boolean = () => false,
): Promise<RunOutcome> {
  const world = await startWorld(seed)
  const run = new Run(world)
  try {
    while (run.answers < answers && run.faults.length === 0 && !isOver()) await run.step()
  } finally {
    await world.close()
  }
  const requests = world.registries.reduce((sum, registry) => sum + registry.requests, 0)
  const faults = run.faults
    .slice(0, MAX_FAULTS)
    .map((fault) => `seed ${seed}, answer ${run.answers}: ${fault}`)
  return { answers: run.answers, required: run.required, exact: run.exact, requests, faults }
}

/** After so long all data are of now, those behind a second gateway as well. */
const CALM_MS = 160_000
const MAX_FAULTS = 10

class Run {
  readonly #world: World
  answers = 0
  required = 0
  exact = 0
  readonly faults: string[] = []

  constructor(world: World) {
    this.#world = world
  }

  /** Some time passes, something changes, and one reader or several read. */
  async step(): Promise<void> {
    const world = this.#world
    const { random } = world
    const isCalm = random.chance(0.2)
    if (isCalm) await world.pass(CALM_MS)
    else await passTime(world)
    if (random.chance(0.1)) world.collectGarbage()
    for (let n = isCalm ? 0 : random.pick([0, 0, 0, 1, 1, 3, 8]); n > 0; n--) world.change(random)
    if (random.chance(0.03)) random.pick(world.registries).spec = random.pick(SPEC_KINDS)
    world.isRestless = !isCalm && random.chance(0.7)
    const isTogether = random.chance(0.25)
    const count = isTogether ? 2 + random.below(3) : 1
    const readers = Array.from({ length: count }, (_, n) =>
      read(world, random.fork(`${this.answers} ${n}`), isTogether),
    )
    const results = await Promise.all(readers.map((reader) => reader.catch(asFault)))
    world.isRestless = false
    for (const result of results) this.#judge(result)
  }

  #judge(result: Answer | FoundOne | string): void {
    this.answers++
    if (typeof result === 'string') return void this.faults.push(result)
    const { faults, required, isExact } = isAnswer(result)
      ? judge(result, this.#world)
      : { faults: judgeOne(result, this.#world), required: 0, isExact: false }
    this.required += required
    if (isExact) this.exact++
    for (const fault of faults) this.faults.push(`${fault}\n${describeAnswer(fault, result, this.#world)}`)
  }
}

function isAnswer(result: Answer | FoundOne): result is Answer {
  return 'pages' in result
}

function asFault(error: unknown): string {
  if (error instanceof Refused) return error.message
  throw error
}

/** Mostly little, so that cached data is used; at times so long that everything is read again. */
async function passTime({ random, pass }: World): Promise<void> {
  const ms = random.pick([0, 0, 5, 400, 1500, 1500, 4000, 9000, 17_000, 30_000, 90_000, 200_000])
  if (ms > 0) await pass(random.below(ms) + 1)
}

const LIMITS = [1, 2, 7, 20, 50, 50, 51, 99, 100, 150, 200, 200]

async function read(world: World, random: Random, isTogether: boolean): Promise<Answer | FoundOne> {
  const asking: Asking = { url: random.pick(world.urls), now: () => world.history.now() }
  const question = makeQuestion(world, random)
  const limit = random.pick(LIMITS)
  const headers: Record<string, string> = random.chance(0.1) ? { 'cache-control': 'no-cache' } : {}
  const kind = random.pick(['first', 'first', 'page', 'pages', 'walk', 'walk', 'stream', 'one'] as const)
  switch (kind) {
    case 'first':
      return readPage(asking, question, { limit, offset: 0, headers })
    case 'page':
      return readPage(asking, question, { limit, offset: random.below(random.pick([20, 200, 800])), headers })
    case 'pages':
      return readPages(asking, question, limit)
    case 'walk':
      return walk(world, asking, question, { limit, random, isTogether })
    case 'stream': {
      const page = await askStream(asking, question)
      return answerOf(`NDJSON ${JSON.stringify(question)}`, 'stream', question, [page], { isToEnd: true })
    }
    case 'one': {
      // A gateway fails for an odd listing, and the one that asks it again waits by the clock.
      const listings = random
        .pick(world.registries)
        .listings()
        .filter(({ odd }) => odd === undefined)
      return askOne(
        asking,
        listings.length === 0 || random.chance(0.1) ? 'none' : random.pick(listings).listingId,
      )
    }
  }
}

function makeQuestion({ plan, registries }: World, random: Random): Question {
  const publishers = registries
    .flatMap((registry) => registry.listings())
    .map(({ publisher }) => publisher.address)
  const canAskPublisher = plan.registries.every(({ hasPublishers }) => hasPublishers) && publishers.length > 0
  return {
    status: random.pick(['open', 'open', 'open', 'open', 'open', 'closed', null] as const),
    publisher: canAskPublisher && random.chance(0.05) ? random.pick(publishers) : null,
    gpuModel: random.chance(0.15) ? 'H100' : null,
    gpuCountMin: random.chance(0.15) ? 3 : null,
  }
}

function answerOf(
  asked: string,
  kind: Answer['kind'],
  question: Question,
  pages: readonly Page[],
  { offset = 0, limit = 0, isToEnd }: { offset?: number; limit?: number; isToEnd: boolean },
): Answer {
  return { asked, kind, question, pages, offset, limit, isToEnd }
}

type Paging = { limit: number; offset: number; headers: Record<string, string> }

async function readPage(
  asking: Asking,
  question: Question,
  { limit, offset, headers }: Paging,
): Promise<Answer> {
  const page = await askPage(asking, question, `&limit=${limit}&offset=${offset}`, headers)
  const asked = `page ${JSON.stringify({ ...question, limit, offset, ...headers })}`
  const isToEnd = page.nextCursor === null && (page.items.length > 0 || offset === 0)
  return answerOf(asked, 'page', question, [page], { offset, limit, isToEnd })
}

async function readPages(asking: Asking, question: Question, limit: number): Promise<Answer> {
  const pages: Page[] = []
  for (let offset = 0; offset + limit <= 2000 && offset < 30 * limit; offset += limit) {
    const page = await askPage(asking, question, `&limit=${limit}&offset=${offset}`)
    pages.push(page)
    if (page.items.length < limit) break
  }
  const asked = `pages by offset ${JSON.stringify({ ...question, limit })}`
  const isToEnd = pages.at(-1)!.items.length < limit
  return answerOf(asked, 'pages', question, pages, { limit, isToEnd })
}

type Walk = { limit: number; random: Random; isTogether: boolean }

/** Pages by cursor; changes and time lie between them. */
async function walk(
  world: World,
  asking: Asking,
  question: Question,
  { limit, random, isTogether }: Walk,
): Promise<Answer> {
  const offset = random.chance(0.2) ? random.below(100) : 0
  const pages = [await askPage(asking, question, `&limit=${limit}&offset=${offset}`)]
  const most = random.chance(0.3) ? 1 + random.below(5) : 60
  const pause = random.pick([0, 0, 500, 4000, 20_000])
  for (let cursor = pages[0]!.nextCursor; cursor !== null && pages.length < most; ) {
    if (!isTogether && pause > 0) await world.pass(random.below(pause) + 1)
    if (world.isRestless && random.chance(0.5)) world.change(random)
    const size = random.chance(0.8) ? limit : random.pick(LIMITS)
    const replica = { ...asking, url: random.pick(world.urls) }
    pages.push(await askPage(replica, question, `&limit=${size}&cursor=${cursor}`))
    cursor = pages.at(-1)!.nextCursor
  }
  const asked = `walk ${JSON.stringify({ ...question, limit, offset, pages: pages.length })}`
  const isToEnd = pages.at(-1)!.nextCursor === null && (pages[0]!.items.length > 0 || offset === 0)
  return answerOf(asked, 'walk', question, pages, { offset, limit, isToEnd })
}
