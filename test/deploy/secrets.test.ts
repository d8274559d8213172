import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { MAKE_SECRETS, makeSecrets } from './secrets.ts'

const read = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8').trim()]),
  )

const again = (folder: string): string => execFileSync('sh', [MAKE_SECRETS, folder], { encoding: 'utf8' })

test('make-secrets: 32 random bytes each, in a folder for its owner only', (t) => {
  const folder = makeSecrets(t)
  t.is(statSync(folder).mode & 0o777, 0o700)
  const { 'redis.conf': settings, store_url: url, ...random } = read(folder)
  for (const [name, secret] of Object.entries(random)) t.regex(secret, /^[0-9a-f]{64}$/, name)
  t.is(new Set(Object.values(random)).size, 5)
  t.is(settings, `requirepass ${random.redis_password}`)
  t.is(url, `redis://:${random.redis_password}@redis:6379`)
  const other = read(makeSecrets(t))
  for (const [name, secret] of Object.entries(random)) t.not(secret, other[name], name)
})

test('make-secrets: a second run changes nothing and prints no secret', (t) => {
  const folder = makeSecrets(t)
  const before = read(folder)
  chmodSync(folder, 0o755)
  const output = again(folder)
  t.deepEqual(read(folder), before)
  t.is(statSync(folder).mode & 0o777, 0o700, 'but the folder is shut again')
  for (const secret of Object.values(before)) t.false(output.includes(secret))
})

test('make-secrets: creates a missing secret, dependent ones still agree', (t) => {
  const folder = makeSecrets(t)
  const before = read(folder)
  for (const name of ['curated_key', 'store_url']) rmSync(join(folder, name))
  again(folder)
  const after = read(folder)
  t.not(after.curated_key, before.curated_key)
  t.deepEqual({ ...after, curated_key: '' }, { ...before, curated_key: '' })
})
