import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { freePort } from '../../helpers/free-port.ts'
import { limitFileSize } from '../../helpers/process-limits.ts'
import { ownRedis, redisClient } from '../../helpers/redis.ts'
import { type Reply, send } from '../../helpers/registry.ts'
import { temporaryFolder } from '../../helpers/run-cli.ts'

type Service = { url: string; child: ChildProcess; metric: (name: string) => Promise<number> }

/** `entrepot serve` with stderr at this descriptor or in a pipe. Resolves when it answers. */
async function start(t: ExecutionContext, stderr: number | 'pipe'): Promise<Service> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = spawn(process.execPath, ['src/bin.ts', 'serve'], {
    env: {
      ...process.env,
      PORT: String(port),
      STORE_URL: 'sqlite::memory:',
      LOG_LEVEL: 'debug',
      METRICS_PUBLIC: 'true',
    },
    stdio: ['ignore', 'ignore', stderr],
  })
  t.teardown(() => child.kill('SIGKILL'))
  await eventually('answered', () => answer(url))
  const metric = async (name: string) => {
    const { text } = await send(`${url}/metrics`)
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  }
  return { url, child, metric }
}

const answer = (url: string): Promise<Reply | null> => send(`${url}/health`).catch(() => null)

async function endedBySigterm(child: ChildProcess): Promise<number | null> {
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  return (await gone)[0]
}

const DROPPED = 'entrepot_log_lines_dropped_total'

test('log: on a full disk lines are dropped and counted, and the service answers', async (t) => {
  const { url, child, metric } = await start(t, openSync('/dev/full', 'w'))
  for (let n = 0; n < 50; n++) t.is((await send(`${url}/health`)).status, 200)
  await eventually(
    '50 lines dropped',
    () => metric(DROPPED),
    (count) => count >= 50,
  )
  t.is(await endedBySigterm(child), 0)
})

test('log: with stderr closed lines are dropped, and the service answers', async (t) => {
  const { url, child, metric } = await start(t, 'pipe')
  child.stderr!.destroy()
  const dropped = async () => {
    t.is((await send(`${url}/health`)).status, 200)
    return metric(DROPPED)
  }
  await eventually('10 lines dropped', dropped, (count) => count >= 10)
  t.is(await endedBySigterm(child), 0)
})

test('log: after a full disk it continues with the number of missing lines', async (t) => {
  const directory = temporaryFolder(t)
  const file = join(directory, 'log')
  const { url, child, metric } = await start(t, openSync(file, 'a'))
  await limitFileSize(child.pid!, statSync(file).size + 1000)
  const log = async () => {
    await send(`${url}/health`)
    return readFileSync(file, 'utf8')
  }
  await eventually('dropped', async () => {
    await log()
    return metric(DROPPED)
  })
  await limitFileSize(child.pid!, null)
  await eventually('reported how many', log, (text) => text.includes('"log lines dropped"'))
  t.is(await endedBySigterm(child), 0)
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  const parsed = lines.map((line): { msg?: string; count?: number } => {
    try {
      return JSON.parse(line)
    } catch {
      return { msg: 'torn' }
    }
  })
  const dropped = parsed.findIndex(({ msg }) => msg === 'log lines dropped')
  t.true(parsed[dropped]!.count! > 0)
  t.is(parsed.filter(({ msg }) => msg === 'torn').length, 1, 'the line that the full disk cut')
  t.is(parsed.at(-1)?.msg, 'stopped')
})

test('log: what a library prints is a line of JSON as well, such as of a Redis user without INFO', async (t) => {
  const redis = await ownRedis(t)
  const admin = redisClient(t, redis.url)
  const rights = /`(~\{entrepot\}\S+ [^`]+)`/.exec(readFileSync('docs/operations.md', 'utf8'))![1]!
  await admin.call('ACL', 'SETUSER', 'limited', 'on', '>pw', ...rights.split(' '), '-info')
  const child = spawn(process.execPath, ['src/bin.ts', 'serve'], {
    env: { ...process.env, PORT: '0', STORE_URL: redis.url.replace('//', '//limited:pw@') },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  await eventually('listening', () => output.includes('"listening"'))
  t.is(await endedBySigterm(child), 0)
  const lines = output.trim().split('\n')
  t.notThrows(() => lines.forEach((line) => void JSON.parse(line)), output)
  t.true(lines.some((line) => line.includes('INFO')))
  t.deepEqual(
    lines.filter((line) => line.includes('NOPERM') && !line.includes("'info'")),
    [],
  )
})
