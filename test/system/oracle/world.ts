import { startGateway } from '../../helpers/gateway.ts'
import { type ManualClock, manualClock } from '../../helpers/manual-clock.ts'
import { type Random, seededRandom } from '../../helpers/random.ts'
import { countCalls, passIn } from './calls.ts'
import { Changes, terms } from './changes.ts'
import { History } from './history.ts'
import type { Question } from './model.ts'
import { OwnRegistry } from './own-registry.ts'
import { INNER, INNER_FULL_SECONDS, OWN, type Plan, type Route } from './plan.ts'
import { OUTAGES, ScriptedRegistry } from './scripted-registry.ts'

/** Several scripted Registries, and one or two real gateways over them, all by one clock and one seed. */
export type World = {
  seed: number
  plan: Plan
  clock: ManualClock
  random: Random
  history: History
  registries: readonly ScriptedRegistry[]
  /** The own Registry of the gateway that is judged; `null` without one. */
  own: OwnRegistry | null
  /** Of the gateway that is judged, and of its replica where there is one. */
  urls: readonly string[]
  /** One change somewhere. */
  change: (random: Random) => void
  /** One change in the own Registry. */
  changeOwn: (random: Random) => Promise<void>
  /** Whether Registries change while they are read. */
  isRestless: boolean
  /** Advances the clock in steps; whatever is due is done between them. */
  pass: (ms: number) => Promise<void>
  /** Resolves when no gateway waits for an upstream. */
  idle: () => Promise<void>
  close: () => Promise<void>
}

/** Asks every source for everything. */
export const ANY_LISTING: Question = {
  status: null,
  publisher: null,
  gpuModel: null,
  gpuCountMin: null,
  region: null,
  priceMax: null,
  isByPrice: false,
  sources: null,
}

export async function startWorld(seed: number): Promise<World> {
  const random = seededRandom(seed)
  const plan = makePlan(random.fork('plan'))
  const hasOwn = plan.outer.some(({ name }) => name === OWN)
  // The own Registry dates by the real clock, and is the oldest here.
  const clock = hasOwn ? manualClock(Date.UTC(2100, 0)) : manualClock()
  const history = new History(() => clock.now())
  const registries = plan.registries.map(
    (options) =>
      new ScriptedRegistry({
        ...options,
        history,
        now: () => clock.now(),
        random: random.fork(`${options.name} dates`).next,
      }),
  )
  for (const registry of registries) await registry.listen()
  const changes = new Changes(registries, random.fork('changes'))
  // Liars copy what the others have.
  for (const { name, size } of plan.registries.toSorted((a, b) => Number(a.isLiar) - Number(b.isLiar)))
    changes.fill(registries.find((registry) => registry.name === name)!, size, clock.now())
  for (const registry of registries)
    changes.fillOdd(registry, clock.now(), random.fork(`${registry.name} odd`))
  const closers: (() => unknown)[] = registries.map((registry) => () => registry.close())
  const calls = countCalls()
  closers.push(calls.close)
  const scope = { teardown: (close: () => unknown) => void closers.push(close) }
  const jitter = random.fork('jitter').next
  const urlOf = (name: string): string => registries.find((registry) => registry.name === name)!.url
  const gateway = (id: string, routes: readonly Route[], innerUrl: string | null) =>
    startGateway(
      scope,
      routes
        .filter(({ name }) => name !== OWN)
        .map(({ name, priority, maxListings }) => ({
          name,
          url: name === INNER ? innerUrl! : urlOf(name),
          settings: [
            ...(name === INNER ? ['kind = "gateway"'] : []),
            ...(id === INNER ? [`full_refresh_seconds = ${INNER_FULL_SECONDS}`] : []),
            ...(maxListings === null ? [] : [`max_listings = ${maxListings}`]),
            `priority = ${priority}\ntimeout_ms = 30000`,
          ].join('\n'),
        })),
      {
        clock,
        nowSeconds: () => Math.floor(clock.now() / 1000),
        random: jitter,
        isLoaded: false,
        environment: { REGISTRY_ADMIN_API_KEY: 'shared by replicas' },
        more: `[gateway]\nid = "${id}"\nbudget_ms = 60000\n${registryLines(routes)}`,
      },
    )
  for (const registry of registries)
    if (registry.name === plan.failing) registry.outage = random.fork('outage').pick(OUTAGES)
  const inner = plan.inner.length === 0 ? null : await gateway(INNER, plan.inner, null)
  await calls.idle()
  const urls: string[] = []
  for (let n = 0; n < plan.replicas; n++)
    urls.push((await gateway('outer', plan.outer, inner?.url ?? null)).url)
  await calls.idle()
  const own = hasOwn ? new OwnRegistry(urls[0]!, history) : null
  const changeOwn = async (from: Random): Promise<void> => {
    const others = registries.flatMap((registry) => registry.listings('open'))
    await own?.change(others, terms, from)
  }
  const first = random.fork('own')
  for (let n = 0; n < OWN_CHANGES && own !== null; n++) await changeOwn(first)
  const world: World = {
    seed,
    plan,
    clock,
    random,
    history,
    registries,
    own,
    urls,
    changeOwn,
    change: (from) => changes.make(clock.now(), from),
    isRestless: false,
    pass: passIn(clock, calls.idle),
    idle: calls.idle,
    close: async () => {
      for (const close of closers.reverse()) await close()
    },
  }
  for (const registry of registries) {
    const hook = random.fork(`${registry.name} requests`)
    registry.onRequest = () => {
      if (!world.isRestless || !hook.chance(plan.unrest)) return
      clock.advance(hook.below(40))
      changes.make(clock.now(), hook, registry)
    }
  }
  return world
}

/** Before the first answer. */
const OWN_CHANGES = 40

function registryLines(routes: readonly Route[]): string {
  return routes.some(({ name }) => name === OWN)
    ? '[registry]\nlisting_shape = "off"\n[limits]\npublish_per_minute = 0'
    : '[registry]\nenabled = false'
}

function makePlan(random: Random): Plan {
  const count = 1 + random.below(4)
  const sizes = random.pick([
    [0, 12, 45],
    [40, 130, 260],
    [130, 260, 700],
  ])
  const names = ['a', 'b', 'c', 'd'].slice(0, count)
  const isNested = count > 1 && random.chance(0.4)
  const behind = isNested ? names.filter((_, n) => n === 0 || random.chance(0.5)) : []
  const direct = names.filter((name) => !behind.includes(name) || random.chance(0.25))
  const single = direct.filter((name) => !behind.includes(name))
  const isLarge = random.chance(0.25)
  const route = (name: string, n: number): Route => {
    const maxListings = isLarge && random.chance(0.5) ? random.pick([20, 100, 250]) : null
    return { name, priority: random.chance(0.5) ? n : random.below(3) - 1, maxListings }
  }
  const outer = (isNested ? [...direct, INNER] : direct).map(route)
  const unrest = random.pick([0.1, 0.4, 0.9])
  const failing = single.length > 0 && random.chance(0.15) ? random.pick(single) : null
  const own: Route[] = random.chance(0.25) ? [{ name: OWN, priority: 0, maxListings: null }] : []
  return {
    registries: names.map((name) => ({
      name,
      size: random.pick(sizes),
      spec: random.pick(['same', 'same', 'none', 'partial', 'other']),
      odd: {
        oversized: random.chance(0.85) ? 0 : random.pick([1, 3, 150]),
        // Searching for it takes tens of requests, which is too long where something changes before most of them.
        isFailing: failing === null && !behind.includes(name) && random.chance(0.1) && unrest < 0.2,
      },
      // Which publishers a gateway knows of one that was away depends on when it asked.
      hasPublishers: random.chance(0.85) && name !== failing,
      isCoarse: random.chance(0.3),
      skewMs: behind.includes(name) || random.chance(0.75) ? 0 : random.pick([-15_000, 4_000, 3_600_000]),
      pageSize: random.chance(0.85) ? 200 : 60,
      isLiar: count > 1 && random.chance(0.4),
    })),
    outer: [...own, ...(random.chance(0.5) ? outer : outer.reverse())],
    inner: behind.map(route),
    replicas: own.length > 0 || random.chance(0.75) ? 1 : 2,
    unrest,
    failing,
  }
}
