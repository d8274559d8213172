import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import test from 'ava'
import { EXIT } from '../../../src/cli/exit-codes.ts'
import { programPath } from '../../helpers/programs.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'

const run = promisify(execFile)
const UNIT = 'deploy/systemd/entrepot.service'

/** What `systemd-analyze verify` complains about. */
async function complaints(t: { teardown: (clean: () => void) => void }, text: string): Promise<string> {
  const file = temporaryFile(t, 'entrepot.service', text)
  return run(programPath('systemd'), ['verify', '--man=no', file]).then(
    ({ stderr }) => stderr,
    ({ stderr }: { stderr: string }) => stderr,
  )
}

test('systemd: the unit is valid, and a misspelt setting is not', async (t) => {
  const text = readFileSync(UNIT, 'utf8')
  t.is(await complaints(t, text), '')
  t.regex(await complaints(t, text.replace('Restart=', 'Restrat=')), /Restrat/)
})

test('systemd: a wrong configuration is not started again, and a drain has its time', (t) => {
  const text = readFileSync(UNIT, 'utf8')
  t.true(text.includes(`RestartPreventExitStatus=${EXIT.badConfig}`))
  t.true(text.includes('TimeoutStopSec=15'))
})
