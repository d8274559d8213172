import type { Random } from '../../helpers/random.ts'
import {
  type Answer,
  type Asking,
  askBeyond,
  askOne,
  askPage,
  askStream,
  type Page,
  parametersOf,
  Refused,
} from './ask.ts'
import { askFacets, askOverview, askSearch } from './ask-market.ts'
import { describeAnswer, type Result } from './describe.ts'
import type { Question } from './model.ts'
import { judge, judgeFacets, judgeOne, type Verdict } from './oracle.ts'
import { OWN } from './plan.ts'
import { OUTAGES, SPEC_KINDS } from './scripted-registry.ts'
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

type RunOptions = {
  /** Judged answers. */
  answers: number
  isOver?: () => boolean
}

/** Reads one world until so many answers are judged, one is wrong, or `isOver`. */
export async function runWorld(
  seed: number,
  { answers, isOver = () => false }: RunOptions,
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
const CALM_MS = 240_000
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
    for (let n = isCalm ? 0 : random.pick([0, 0, 0, 1, 1, 3, 8]); n > 0; n--) world.change(random)
    for (let n = isCalm ? 0 : random.below(3); n > 0; n--) await world.changeOwn(random)
    const failing = world.registries.find(({ name }) => name === world.plan.failing)
    if (failing !== undefined && random.chance(0.15))
      failing.outage = failing.outage === null ? random.pick(OUTAGES) : null
    if (random.chance(0.03)) random.pick(world.registries).spec = random.pick(SPEC_KINDS)
    world.isRestless = !isCalm && random.chance(0.7)
    const isTogether = random.chance(0.25)
    const count = isTogether ? 2 + random.below(3) : 1
    const readers = Array.from({ length: count }, (_, n) =>
      read(world, random.fork(`${this.answers} ${n}`), isTogether),
    )
    const results = await withTime(world, Promise.all(readers.map((reader) => reader.catch(asFault))))
    world.isRestless = false
    for (const result of results) this.#judge(result)
  }

  #judge(result: Result | string): void {
    this.answers++
    if (typeof result === 'string') return void this.faults.push(result)
    const { faults, required, isExact } = judgeAny(result, this.#world)
    this.required += required
    if (isExact) this.exact++
    for (const fault of faults) this.faults.push(`${fault}\n${describeAnswer(fault, result, this.#world)}`)
  }
}

/** A request to a source that has no answer is repeated after a while, so time has to pass for one. */
async function withTime<T>({ plan, pass }: World, answers: Promise<T>): Promise<T> {
  let isAnswered = false
  const end = (): void => {
    isAnswered = true
  }
  answers.then(end, end)
  while (plan.failing !== null && !isAnswered) await pass(RETRY_STEP_MS)
  return answers
}

const RETRY_STEP_MS = 50

function judgeAny(result: Result, world: World): Verdict {
  if ('pages' in result) return judge(result, world)
  return 'counts' in result ? judgeFacets(result, world) : judgeOne(result, world)
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

const KINDS = [
  ...([
    'first',
    'first',
    'first',
    'page',
    'page',
    'pages',
    'walk',
    'walk',
    'walk',
    'stream',
    'stream',
  ] as const),
  ...(['one', 'one', 'facets', 'facets', 'beyond'] as const),
]
/** Of the agents. They report a market that cannot be read in words. */
const TOOLS = ['overview', 'search'] as const

async function read(world: World, random: Random, isTogether: boolean): Promise<Result> {
  const asking: Asking = { url: random.pick(world.urls), now: () => world.history.now() }
  const question = makeQuestion(world, random)
  const limit = random.pick(LIMITS)
  const headers: Record<string, string> = random.chance(0.1) ? { 'cache-control': 'no-cache' } : {}
  const kind = random.pick(world.plan.failing === null ? [...KINDS, ...TOOLS] : KINDS)
  switch (kind) {
    case 'first':
      return readPage(asking, question, { limit, offset: 0, headers })
    case 'page':
      return readPage(asking, question, { limit, offset: random.below(random.pick([20, 200, 800])), headers })
    case 'pages':
      return readPages(asking, question, limit)
    case 'walk':
      return walk(world, asking, question, { limit, random, isTogether })
    case 'search':
      return search(world, asking, question, { limit, random, isTogether })
    case 'stream': {
      const page = await askStream(asking, question)
      return answerOf(`NDJSON ${parametersOf(question)}`, 'stream', question, [page], { isToEnd: true })
    }
    case 'facets':
      return askFacets(asking, { ...question, isByPrice: false })
    case 'overview':
      return askOverview(asking, { ...question, isByPrice: false })
    case 'beyond': {
      const status = await askBeyond(asking, question)
      if (status !== 400) throw new Refused(`offset + limit of 2001 is answered ${status}`)
      return readPage(asking, question, { limit: 100, offset: 1900, headers })
    }
    case 'one':
      return askOne(asking, pickId(world, random))
  }
}

/** A gateway fails for an odd listing, and the one that asks it again waits by the clock. */
function pickId({ registries, own }: World, random: Random): string {
  const listings = random
    .pick([...registries, ...(own === null ? [] : [own])])
    .listings()
    .filter(({ odd }) => odd === undefined)
  return listings.length === 0 || random.chance(0.1) ? 'none' : random.pick(listings).listingId
}

function makeQuestion({ plan, registries, own }: World, random: Random): Question {
  const publishers = [...registries, ...(own === null ? [] : [own])]
    .flatMap((registry) => registry.listings())
    .map(({ publisher }) => publisher.address)
  const canAskPublisher = plan.registries.every(({ hasPublishers }) => hasPublishers) && publishers.length > 0
  const names = plan.outer.map(({ name }) => name)
  // Where there is no own Registry, closed listings cannot be asked for.
  const hasOwn = names.includes(OWN)
  const status = hasOwn ? random.pick(['open', 'open', 'open', 'closed', null] as const) : 'open'
  const some = random.chance(0.1) ? names.slice(random.below(names.length)) : null
  return {
    status: status !== 'closed' || some === null || some.includes(OWN) ? status : 'open',
    publisher: canAskPublisher && random.chance(0.05) ? random.pick(publishers) : null,
    gpuModel: random.chance(0.15) ? 'H100' : null,
    gpuCountMin: random.chance(0.15) ? 3 : null,
    region: random.chance(0.15) ? 'eu' : null,
    priceMax: random.chance(0.2) ? random.pick([40_000, 300_000, 1_000_000]) : null,
    isByPrice: random.chance(0.2),
    sources: some,
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
  const asked = `page ${parametersOf(question)} ${JSON.stringify({ limit, offset, ...headers })}`
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
  const asked = `pages by offset ${parametersOf(question)} ${JSON.stringify({ limit })}`
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
  const asked = `walk ${parametersOf(question)} ${JSON.stringify({ limit, offset, pages: pages.length })}`
  const isToEnd = pages.at(-1)!.nextCursor === null && (pages[0]!.items.length > 0 || offset === 0)
  return answerOf(asked, 'walk', question, pages, { offset, limit, isToEnd })
}

/** Pages of the agents' tool, which remembers in its process what it has shown. */
async function search(
  world: World,
  asking: Asking,
  question: Question,
  { limit, random, isTogether }: Walk,
): Promise<Answer> {
  const pages = [await askSearch(asking, question, limit, null)]
  const most = 1 + random.below(20)
  for (let cursor = pages[0]!.nextCursor; cursor !== null && pages.length < most; ) {
    if (!isTogether && random.chance(0.2)) await world.pass(random.below(5000) + 1)
    if (world.isRestless && random.chance(0.5)) world.change(random)
    pages.push(await askSearch(asking, question, limit, cursor))
    cursor = pages.at(-1)!.nextCursor
  }
  const asked = `search_listings ${parametersOf(question)} ${JSON.stringify({ limit, pages: pages.length })}`
  return answerOf(asked, 'search', question, pages, { limit, isToEnd: pages.at(-1)!.nextCursor === null })
}
