import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'

/** Public accounts of Anvil and Hardhat. */
const PUBLIC_KEYS = new Set([
  '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
  '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6',
])

const SHAPES: Readonly<Record<string, RegExp>> = {
  'a private key in PEM': /-----BEGIN [A-Z ]*PRIVATE KEY-----/g,
  'a key of a cloud or a code host':
    /\b(?:AKIA[0-9A-Z]{16}|gh[pousr]_\w{36}|github_pat_\w{20,}|npm_\w{36}|xox[abp]-\w{10,})/g,
  'a JSON Web Token': /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+/g,
  'a private key of a wallet': /\b0x[0-9a-fA-F]{64}\b/g,
}
/** 32 bytes in hexadecimal, as our keys are. Tests are not searched for it, since they hold digests. */
const BARE_KEY = /(?<![\w-])[0-9a-f]{64}(?!\w)/g
const CREDENTIALS = /\w:\/\/[^/@\s:"'`$]*:[^/@\s"'`$]+@/g

const isTest = (file: string): boolean => /^(test|bench)\//.test(file)

/** What looks like a secret in a file, by its kind. */
const secretsIn = (file: string, text: string): string[] =>
  Object.entries(
    isTest(file) ? SHAPES : { ...SHAPES, 'a key': BARE_KEY, 'a URL with a password': CREDENTIALS },
  ).flatMap(([kind, shape]) =>
    [...text.matchAll(shape)].filter(([found]) => !PUBLIC_KEYS.has(found)).map(() => `${file}: ${kind}`),
  )

/** Where there is no git, or this is no checkout: everything but what `.gitignore` names. */
const NEVER_TRACKED = /(^|\/)(\.git|node_modules|dist|data|test\/artifacts|deploy\/secrets|\.env)(\/|$)/

/** Keys of servers that only tests start, and that open nothing. */
const FIXTURES = /^test\/fixtures\//

const tracked = ((): string[] => {
  try {
    const listed = execFileSync('git', ['ls-files', '-z'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return listed.split('\0').filter((file) => file !== '' && !FIXTURES.test(file))
  } catch {
    return readdirSync('.', { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => !NEVER_TRACKED.test(file) && !FIXTURES.test(file))
  }
})()

test('repository: no file contains what looks like a secret', (t) => {
  t.true(tracked.length > 400)
  const searched = tracked.filter((file) => file !== 'package-lock.json')
  const found = searched.flatMap((file) => secretsIn(file, readFileSync(file, 'utf8')))
  t.deepEqual(found, [])
  const key = '5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'
  t.deepEqual(secretsIn('config/x.env', `KEY=${key}`), ['config/x.env: a key'])
})

test('repository: no file is of a kind that holds secrets, and git and the image ignore them', (t) => {
  t.deepEqual(
    tracked.filter((file) => /(^|\/)(\.env|secrets\/|.*\.(pem|key|p12|db|sqlite))/.test(file)),
    [],
  )
  const ignored = readFileSync('.gitignore', 'utf8').split('\n')
  for (const place of ['.env', 'deploy/secrets/', '/data/']) t.true(ignored.includes(place), place)
  t.regex(readFileSync('config/example.env', 'utf8'), /^REGISTRY_ADMIN_API_KEY=$/m)
  const [, everything, ...names] = readFileSync('.dockerignore', 'utf8').trim().split('\n')
  t.is(everything, '*')
  const included = names.filter((name) => name.startsWith('!')).join(' ')
  t.is(included, '!package.json !package-lock.json !tsconfig*.json !src !config !demo')
})

type Package = { integrity?: string; link?: boolean; hasInstallScript?: boolean; dev?: boolean }

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, Package>
}
const installed = Object.entries(packages).filter(([path]) => path !== '')
const { allowScripts } = JSON.parse(readFileSync('package.json', 'utf8'))

test('dependencies: every package is pinned by a digest', (t) => {
  t.true(installed.length > 100)
  t.deepEqual(
    installed.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path),
    [],
  )
})

test('dependencies: only the runtime package has an install script', (t) => {
  const scripted = installed.filter(([, { hasInstallScript }]) => hasInstallScript)
  t.deepEqual(
    scripted.map(([path]) => path),
    ['node_modules/node'],
  )
  t.deepEqual(allowScripts, { node: true })
  t.true(scripted.every(([, { dev }]) => dev))
})
