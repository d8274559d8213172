import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import test, { type ExecutionContext } from 'ava'
import { temporaryFolder } from '../../helpers/run-cli.ts'
import { readStages, wordsOf } from './dockerfile.ts'

const run = promisify(execFile)
const stages = readStages()
const runtime = stages.get('runtime')!
/** Debian's user without rights. Only root can switch to it, and it needs a readable checkout. */
const UNPRIVILEGED = { uid: 65_534, gid: 65_534 }
const asUnprivileged = await run('test', ['-r', resolve('package.json')], UNPRIVILEGED).then(
  () => UNPRIVILEGED,
  (): Partial<typeof UNPRIVILEGED> => ({}),
)

/**
 * The image's `/app`, made by the steps of its stages without an engine. `node_modules` is this checkout's. It is read-only.
 */
async function makeApp(t: ExecutionContext): Promise<string> {
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  const [build, app] = [join(folder, 'build'), join(folder, 'app')]
  for (const made of [build, app]) mkdirSync(made)
  for (const { name, text } of stages.get('build')!) {
    const words = text.split(' ')
    const target = join(build, words.at(-1)!)
    if (name === 'COPY')
      for (const source of words.slice(0, -1).flatMap((pattern) => globSync(pattern)))
        cpSync(source, target.endsWith('/') ? join(target, source) : target, { recursive: true })
    else if (name === 'RUN' && text.startsWith('npm ci'))
      symlinkSync(resolve('node_modules'), join(build, 'node_modules'))
    else if (name === 'RUN') await run('sh', ['-c', text], { cwd: build })
  }
  for (const { name, text } of runtime.filter(({ name }) => name === 'COPY')) {
    const [first = '', ...rest] = text.split(' ')
    t.is(name, 'COPY')
    if (first === '--from=dependencies') symlinkSync(resolve('node_modules'), join(app, 'node_modules'))
    else if (first === '--from=build')
      cpSync(join(build, rest[0]!.slice('/app/'.length)), join(app, 'dist'), { recursive: true })
    else cpSync(first, rest[0] === './' ? join(app, first) : join(app, rest[0]!), { recursive: true })
  }
  for (const path of globSync('**', { cwd: app, exclude: ['node_modules/**'] })) {
    const file = join(app, path)
    if (path !== 'node_modules') chmodSync(file, statSync(file).isDirectory() ? 0o555 : 0o444)
  }
  chmodSync(app, 0o555)
  return app
}

test('image: its tree serves API and pages without a home or writable folder', async (t) => {
  const app = await makeApp(t)
  const child = spawn(process.execPath, ['dist/bin.js', ...wordsOf(runtime, 'CMD')], {
    ...asUnprivileged,
    cwd: app,
    env: {
      HOST: '127.0.0.1',
      PORT: '0',
      NODE_ENV: 'production',
      STORE_URL: 'sqlite::memory:',
      TMPDIR: '/nowhere',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  t.log(`as user ${asUnprivileged.uid ?? process.getuid?.()}`)
  const lines = createInterface({ input: child.stderr })
  const [line] = await once(lines, 'line')
  const { url } = JSON.parse(line) as { url: string }
  t.is((await fetch(`${url}/health`)).status, 200)
  t.is((await fetch(`${url}/filter-spec`)).status, 200)
  const page = await fetch(url, { headers: { Accept: 'text/html' } })
  t.is(page.status, 200)
  const html = await page.text()
  const loaded = [...html.matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(([, path]) => path!)
  const libraries = [...html.matchAll(/"\.\/(assets\/[^"/]+\/libraries\/[^"]+)"/g)].map(([, path]) => path!)
  t.true(loaded.length > 3 && libraries.length > 2)
  for (const path of [...loaded, ...libraries]) t.is((await fetch(`${url}/${path}`)).status, 200, path)

  const { exports } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'))
  const { types, default: library } = exports['./client']
  t.true(existsSync(join(app, types)))
  const { createClient } = await import(join(app, library))
  t.is((await createClient({ url }).filterSpec()).version, 5)

  const healthcheck = (port: string) =>
    run(process.execPath, wordsOf(runtime, 'HEALTHCHECK').slice(1), { env: { PORT: port } })
  t.is(wordsOf(runtime, 'HEALTHCHECK')[0], 'node')
  await t.notThrowsAsync(healthcheck(new URL(url).port))

  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  t.is(code, 0)
  await t.throwsAsync(healthcheck(new URL(url).port), { code: 1 } as never)
})
