import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import type { Config } from '../config/config.ts'
import type { Limiter, LimitKind, LimitState } from '../domain/limiter.ts'

const MINUTE_SECONDS = 60
/** Principals cost nothing, so that those of one address are limited together before their signatures are checked. */
const PRINCIPALS_PER_ADDRESS = 20

type SharedCounters = { client: object; prefix: string }

/** Limits per minute, 0: off. With `shared`, replicas count together; while it fails, each counts alone. */
export function createLimiter(
  limits: Pick<Config['limits'], `${string}PerMinute` & keyof Config['limits']>,
  shared: SharedCounters | null = null,
): Limiter {
  const configured: Record<LimitKind, number> = {
    anonymous: limits.anonymousPerMinute,
    read_key: limits.readKeyPerMinute,
    publish: limits.publishPerMinute,
    principal: limits.principalPerMinute,
    signed_address: limits.principalPerMinute * PRINCIPALS_PER_ADDRESS,
  }
  /** By kind and limit: views have limits of their own. */
  const counters = new Map<string, RateLimiterAbstract | null>()
  return (kind, caller, perMinute) => {
    const points = perMinute ?? configured[kind]
    const name = `${kind} ${points}`
    const limiter = counters.get(name) ?? counter(kind, points, shared)
    counters.set(name, limiter)
    return limiter === null ? null : consume(limiter, typeof caller === 'string' ? caller : caller())
  }
}

function counter(kind: LimitKind, points: number, shared: SharedCounters | null): RateLimiterAbstract | null {
  if (points === 0) return null
  const options = { points, duration: MINUTE_SECONDS, keyPrefix: kind }
  const inMemory = new RateLimiterMemory(options)
  if (shared === null) return inMemory
  const { client, prefix } = shared
  return new RateLimiterRedis({
    ...options,
    keyPrefix: `${prefix}limit:${kind}`,
    storeClient: client,
    rejectIfRedisNotReady: true,
    insuranceLimiter: inMemory,
  })
}

async function consume(limiter: RateLimiterAbstract, caller: string): Promise<LimitState> {
  try {
    return stateOf(await limiter.consume(caller), limiter.points, false)
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return stateOf(refusal, limiter.points, true)
    throw refusal
  }
}

const stateOf = (
  { remainingPoints, msBeforeNext }: RateLimiterRes,
  limit: number,
  exceeded: boolean,
): LimitState => ({
  limit,
  remaining: Math.max(0, remainingPoints),
  // The count restarts within a minute, although more is left by a clock that was set back.
  resetSeconds: Math.min(MINUTE_SECONDS, Math.max(1, Math.ceil(msBeforeNext / 1000))),
  exceeded,
})
