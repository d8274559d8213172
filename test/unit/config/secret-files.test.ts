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

test('secret files: each secret is read from its file, without byte order mark and line end', (t) => {
  const { adminKey, bootstrapKey, storeUrl } = load({
    REGISTRY_ADMIN_API_KEY_FILE: secret('\ufeffadmin-secret\n'),
    REGISTRY_BOOTSTRAP_API_KEY_FILE: secret('bootstrap-secret\r\n'),
    STORE_URL_FILE: secret('redis://:pass word@redis:6379'),
  })
  const read = { adminKey, bootstrapKey, storeUrl }
  const [admin, bootstrap] = ['admin-secret', 'bootstrap-secret']
  t.deepEqual(read, { adminKey: admin, bootstrapKey: bootstrap, storeUrl: 'redis://:pass word@redis:6379' })
})

test('secret files: an empty variable counts as unset', (t) => {
  const adminKeyOf = (text: string, file: string) =>
    load({ REGISTRY_ADMIN_API_KEY: text, REGISTRY_ADMIN_API_KEY_FILE: file }).adminKey
  t.is(adminKeyOf('', secret('by-file')), 'by-file')
  t.is(adminKeyOf('by-variable', ''), 'by-variable')
})

test('secret files: all unusable files are reported at once, with their variables', (t) => {
  const UNUSABLE: Readonly<Record<string, (file: string) => string>> = {
    [join(folder, 'missing')]: (file) => `cannot read ${file}: no such file`,
    // Docker makes a folder where a mounted file is missing.
    [folder]: (file) => `cannot read ${file}: EISDIR`,
    [secret('\n')]: (file) => `${file} is empty`,
    [secret('one\ntwo\n')]: (file) => `${file} holds more than one line`,
    [secret('x'.repeat(MAX_SECRET_BYTES + 1))]: (file) => `${file} holds more than ${MAX_SECRET_BYTES} bytes`,
    [secret(Buffer.from('\ufeffadmin-secret\n', 'utf16le'))]: (file) =>
      `cannot read ${file}: it is not in UTF-8, but in UTF-16; save it as UTF-8`,
    [secret(Buffer.from('bootstrap-secret', 'utf16le'))]: (file) =>
      `cannot read ${file}: it is not in UTF-8, but in UTF-16; save it as UTF-8`,
    [secret(Buffer.from('sqlite:é', 'latin1'))]: (file) =>
      `cannot read ${file}: it is not in UTF-8; save it as UTF-8`,
  }
  for (const [file, problem] of Object.entries(UNUSABLE))
    t.is(
      problemsOf(t, { REGISTRY_ADMIN_API_KEY_FILE: file, STORE_URL_FILE: file }),
      `REGISTRY_ADMIN_API_KEY_FILE: ${problem(file)}\nSTORE_URL_FILE: ${problem(file)}`,
    )
})

test('secret files: a content is checked as its variable is, and not repeated', (t) => {
  t.is(
    problemsOf(t, { STORE_URL_FILE: secret('postgres://:password@db') }),
    'STORE_URL: expected sqlite:PATH, sqlite::memory:, redis://…, rediss://…, redis+cluster://… or redis+sentinel://…',
  )
  t.is(
    problemsOf(t, { REGISTRY_ADMIN_API_KEY: 'from-variable', REGISTRY_ADMIN_API_KEY_FILE: secret('file') }),
    'REGISTRY_ADMIN_API_KEY_FILE: REGISTRY_ADMIN_API_KEY is set as well; keep one of them',
  )
})
