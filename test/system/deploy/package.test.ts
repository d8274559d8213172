import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import test from 'ava'
import { freePort } from '../../helpers/free-port.ts'
import { temporaryFolder } from '../../helpers/run-cli.ts'

const run = promisify(execFile)

test('package: installed without dev packages, it serves API and pages without a home, and ends with 0', async (t) => {
  t.timeout(600_000)
  const folder = temporaryFolder(t)
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder])
  const [{ filename }] = JSON.parse(packed.stdout)
  const env = { ...process.env, PORT: String(await freePort()) }
  const { stdout } = await run('.ci/try-package', [join(folder, filename)], { env })
  t.regex(stdout, /the package works, with \d\d+ files of its page\n$/)
})
