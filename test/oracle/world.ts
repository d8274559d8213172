import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setImmediate } from 'node:timers/promises'
import { collectGarbage } from '../helpers/collect-garbage.ts'
import { startGateway } from '../helpers/gateway.ts'
import { type ManualClock, manualClock } from '../helpers/manual-clock.ts'
import { Changes } from './changes.ts'
import { History } from './history.ts'
import { type Random, seededRandom } from './random.ts'
import { ScriptedRegistry, type SpecKind } from './scripted-registry.ts'

export type Mode = 'live' | 'snapshot'

/** A Registry, or the inner gateway, as a gateway reads it. */
export type Route = { name: string; mode: Mode; priority: number }

export type Plan = {
  registries: {
    name: string
    size: number
    spec: SpecKind
    odd: { oversized: number; isFailing: boolean }
    hasPublishers: boolean
    isCoarse: boolean
    skewMs: number
    pageSize: number
  }[]
  /** What the gateway reads directly; `inner` is a second gateway. */
  outer: Route[]
  /** What the second gateway reads; empty without one. */
  inner: Route[]
  /** Gateways that read the outer routes; cursors of one are good at the other. */
  replicas: number
  /** Share of requests before which something changes. */
  unrest: number
}

/** Several scripted Registries, and one or two real gateways over them, all by one clock and one seed. */
export type World = {
  seed: number
  plan: Plan
  clock: ManualClock
  random: Random
  history: History
  registries: readonly ScriptedRegistry[]
  /** Of the gateway that is judged, and of its replica where there is one. */
  urls: readonly string[]
  /** One change somewhere. */
  change: (random: Random) => void
  /** Whether Registries change while they are read. */
  isRestless: boolean
  /** Advances the clock in steps; whatever is due is done between them. */
  pass: (ms: number) => Promise<void>
  /** Resolves when no gateway waits for an upstream. */
  idle: () => Promise<void>
  /** Collects garbage: pages of cached runs that are not in use are scanned again. */
  collectGarbage: () => void
  close: () => Promise<void>
}

export const INNER = 'inner'

export async function startWorld(seed: number): Promise<World> {
  const random = seededRandom(seed)
  const plan = makePlan(random.fork('plan'))
  const clock = manualClock()
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
  for (const [n, registry] of registries.entries())
    changes.fill(registry, plan.registries[n]!.size, clock.now())
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
      routes.map(({ name, mode, priority }) => ({
        name,
        url: name === INNER ? innerUrl! : urlOf(name),
        settings: `${name === INNER ? 'kind = "gateway"\n' : ''}mode = "${mode}"\npriority = ${priority}\ntimeout_ms = 30000`,
      })),
      {
        clock,
        random: jitter,
        environment: { REGISTRY_ADMIN_API_KEY: 'shared by replicas' },
        more: `[gateway]\nid = "${id}"\nbudget_ms = 60000\n[registry]\nenabled = false`,
      },
    )
  const inner = plan.inner.length === 0 ? null : await gateway(INNER, plan.inner, null)
  await calls.idle()
  const urls: string[] = []
  for (let n = 0; n < plan.replicas; n++)
    urls.push((await gateway('outer', plan.outer, inner?.url ?? null)).url)
  await calls.idle()
  const world: World = {
    seed,
    plan,
    clock,
    random,
    history,
    registries,
    urls,
    change: (from) => changes.make(from),
    isRestless: false,
    pass: async (ms) => {
      for (let left = ms; left > 0; left -= STEP_MS) {
        await calls.idle()
        clock.advance(Math.min(left, STEP_MS))
      }
      await calls.idle()
    },
    idle: calls.idle,
    collectGarbage,
    close: async () => {
      for (const close of closers.reverse()) await close()
    },
  }
  for (const registry of registries) {
    const hook = random.fork(`${registry.name} requests`)
    registry.onRequest = () => {
      if (!world.isRestless || !hook.chance(plan.unrest)) return
      clock.advance(hook.below(40))
      changes.make(hook, registry)
    }
  }
  return world
}

/** Longest time that passes at once: shorter than any pull is delayed by. */
const STEP_MS = 3000

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
  const route = (name: string, n: number): Route => ({
    name,
    mode: random.pick(['live', 'live', 'snapshot']),
    priority: random.chance(0.5) ? n : random.below(3),
  })
  const outer = (isNested ? [...direct, INNER] : direct).map(route)
  const unrest = random.pick([0.1, 0.4, 0.9])
  return {
    registries: names.map((name) => ({
      name,
      size: random.pick(sizes),
      spec: random.pick(['same', 'same', 'none', 'partial', 'other']),
      odd: {
        oversized: random.chance(0.85) ? 0 : random.pick([1, 3, 150]),
        // Searching for it takes tens of requests, which is too long where something changes before most of them.
        isFailing: !behind.includes(name) && random.chance(0.1) && unrest < 0.2,
      },
      hasPublishers: random.chance(0.85),
      isCoarse: random.chance(0.3),
      skewMs: behind.includes(name) || random.chance(0.75) ? 0 : random.pick([-15_000, 4_000, 3_600_000]),
      pageSize: random.chance(0.85) ? 200 : 60,
    })),
    outer: random.chance(0.5) ? outer : outer.reverse(),
    inner: behind.map(route),
    replicas: random.chance(0.75) ? 1 : 2,
    unrest,
  }
}

/** Turns of the event loop without a request after which nothing goes on: an index is made in as many steps. */
const QUIET_TURNS = 40

/** Counts the requests of this process's gateways that are not answered yet. */
function countCalls(): { idle: () => Promise<void>; close: () => void } {
  const open = new Set<unknown>()
  const begin = (message: unknown): void => void open.add((message as { request: unknown }).request)
  const end = (message: unknown): void => void open.delete((message as { request: unknown }).request)
  const channels = [
    ['undici:request:create', begin],
    ['undici:request:trailers', end],
    ['undici:request:error', end],
  ] as const
  for (const [channel, listener] of channels) subscribe(channel, listener)
  return {
    idle: async () => {
      for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
        await setImmediate()
        if (open.size > 0) quiet = 0
      }
    },
    close: () => {
      for (const [channel, listener] of channels) unsubscribe(channel, listener)
    },
  }
}
