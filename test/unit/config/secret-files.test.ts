import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { type Config, loadConfig } from '../../../src/config/config.ts'
import { MAX_SECRET_BYTES } from '../../../src/config/secret-files.ts'
import { ConfigError } from '../../../src/errors.ts'

const folder = mkdtempSync(join(tmpdir(), 'entrepot-secrets-'))
test.after.always(() => rmSync(folder, { recursive: true }))

function secret(text: string | Uint8Array): string {
  const file = join(mkdtempSync(join(folder, 'case-')), 'secret')
  writeFileSync(file, text)
  return file
}

const load = (environment: Record<string, string>): Config =>
  loadConfig({ ENTREPOT_CONFIG: secret(''), ...environment })

const problemsOf = (t: ExecutionContext, environment: Record<string, string>): string =>
  t.throws(() => load(environment), { instanceOf: ConfigError })?.message ?? ''

test('secret files: each secret is read from its file, without the line end', (t) => {
  const { adminKey, bootstrapKey, storeUrl } = load({
    REGISTRY_ADMIN_API_KEY_FILE: secret('admin-secret\n'),
    REGISTRY_BOOTSTRAP_API_KEY_FILE: secret('bootstrap-secret\r\n'),
    STORE_URL_FILE: secret('redis://:pass word@redis:6379'),
  })
  t.deepEqual(
    { adminKey, bootstrapKey, storeUrl },
    {
      adminKey: 'admin-secret',
      bootstrapKey: 'bootstrap-secret',
      storeUrl: 'redis://:pass word@redis:6379',
    },
  )
})

test('secret files: a byte order mark is no part of a secret, and a file in another encoding is named as such', (t) => {
  t.is(load({ REGISTRY_ADMIN_API_KEY_FILE: secret('\ufeffadmin-secret\n') }).adminKey, 'admin-secret')
  const wide = secret(Buffer.from('\ufeffadmin-secret\n', 'utf16le'))
  const wideWithoutMark = secret(Buffer.from('bootstrap-secret', 'utf16le'))
  const latin = secret(Buffer.from('sqlite:é', 'latin1'))
  t.is(
    problemsOf(t, {
      REGISTRY_ADMIN_API_KEY_FILE: wide,
      REGISTRY_BOOTSTRAP_API_KEY_FILE: wideWithoutMark,
      STORE_URL_FILE: latin,
    }),
    [
      `REGISTRY_ADMIN_API_KEY_FILE: cannot read ${wide}: it is not in UTF-8, but in UTF-16; save it as UTF-8`,
      `REGISTRY_BOOTSTRAP_API_KEY_FILE: cannot read ${wideWithoutMark}: it is not in UTF-8, but in UTF-16; save it as UTF-8`,
      `STORE_URL_FILE: cannot read ${latin}: it is not in UTF-8; save it as UTF-8`,
    ].join('\n'),
  )
})

test('secret files: an empty variable counts as unset', (t) => {
  t.is(
    load({ REGISTRY_ADMIN_API_KEY: '', REGISTRY_ADMIN_API_KEY_FILE: secret('by-file') }).adminKey,
    'by-file',
  )
  t.is(
    load({ REGISTRY_ADMIN_API_KEY: 'by-variable', REGISTRY_ADMIN_API_KEY_FILE: '' }).adminKey,
    'by-variable',
  )
})

test('secret files: a secret that is set twice is refused, and not repeated', (t) => {
  const file = secret('from-the-file')
  t.is(
    problemsOf(t, { REGISTRY_ADMIN_API_KEY: 'from-the-variable', REGISTRY_ADMIN_API_KEY_FILE: file }),
    'REGISTRY_ADMIN_API_KEY_FILE: REGISTRY_ADMIN_API_KEY is set as well; keep one of them',
  )
})

test('secret files: all unusable files are reported at once, with their variables', (t) => {
  const missing = join(folder, 'missing')
  const empty = secret('\n')
  const lines = secret('one\ntwo\n')
  t.is(
    problemsOf(t, {
      REGISTRY_ADMIN_API_KEY_FILE: missing,
      REGISTRY_BOOTSTRAP_API_KEY_FILE: empty,
      STORE_URL_FILE: lines,
    }),
    [
      `REGISTRY_ADMIN_API_KEY_FILE: cannot read ${missing}: no such file`,
      `REGISTRY_BOOTSTRAP_API_KEY_FILE: ${empty} is empty`,
      `STORE_URL_FILE: ${lines} holds more than one line`,
    ].join('\n'),
  )
  t.is(
    problemsOf(t, { STORE_URL_FILE: folder }),
    `STORE_URL_FILE: cannot read ${folder}: EISDIR`,
    'a folder, which Docker makes where a mounted file is missing',
  )
  const large = secret('x'.repeat(MAX_SECRET_BYTES + 1))
  t.is(
    problemsOf(t, { STORE_URL_FILE: large }),
    `STORE_URL_FILE: ${large} holds more than ${MAX_SECRET_BYTES} bytes`,
  )
})

test('secret files: a content is checked as its variable is, and not repeated', (t) => {
  t.is(
    problemsOf(t, { STORE_URL_FILE: secret('postgres://:password@db') }),
    'STORE_URL: expected sqlite:PATH, sqlite::memory:, redis://…, rediss://…, redis+cluster://… or redis+sentinel://…',
  )
})
