import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openRedisStore } from '../../../src/store/redis/open.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { startRedis } from '../../helpers/redis.ts'
import { type StormOutcome, StormRound } from './storm-round.ts'

/** Runs a storm of publishes until `kills` kills, or until `isOver`. */
type Killing = (kills: number, isOver?: () => boolean) => Promise<StormOutcome>

const NEVER = (): boolean => false

/** One process on an SQLite file, killed again and again. */
export const killOne: Killing = (kills, isOver = NEVER) =>
  inFolder((folder) =>
    onSqlite(folder, async (round) => {
      await round.killAgainAndAgain(round.addTarget(), kills, isOver)
    }),
  )

/** Two processes on one SQLite file, killed independently, at times together. */
export const killTwo: Killing = (kills, isOver = NEVER) =>
  inFolder((folder) =>
    onSqlite(folder, async (round) => {
      const targets = [round.addTarget(), round.addTarget()]
      await Promise.all(targets.map((target) => round.killAgainAndAgain(target, kills, isOver)))
    }),
  )

/** Two processes on one Redis. Kills alternate: Redis, one process, Redis, the other. */
export const killRedisToo: Killing = (kills, isOver = NEVER) =>
  inFolder(async (folder) => {
    const redis = await startRedis({ appendfsync: 'always' })
    try {
      return await during(new StormRound(redis.url, folder), openRedis(redis.url), async (round) => {
        const targets = [round.addTarget(), round.addTarget()] as const
        await Promise.all(targets.map((target) => round.start(target)))
        for (let kill = 0; kill < kills && !isOver(); kill++) {
          if (kill % 2 === 0) await round.killRedis(redis)
          else await round.killAndStart(targets[kill % 4 === 1 ? 0 : 1])
        }
      })
    } finally {
      await redis.dispose()
    }
  })

function onSqlite(folder: string, work: (round: StormRound) => Promise<void>): Promise<StormOutcome> {
  const file = join(folder, 'entrepot.db')
  return during(new StormRound(`sqlite:${file}`, folder), async () => openSqliteStore(file), work)
}

const openRedis = (url: string) => async (): Promise<Store> => (await openRedisStore(url)).store

async function during(
  round: StormRound,
  open: () => Promise<Store>,
  work: (round: StormRound) => Promise<void>,
): Promise<StormOutcome> {
  try {
    await work(round)
    return await round.end(open)
  } finally {
    await round.dispose()
  }
}

async function inFolder(work: (folder: string) => Promise<StormOutcome>): Promise<StormOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'entrepot-kills-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
