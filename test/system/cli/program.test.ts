import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import test from 'ava'
import type { Command } from 'commander'
import { readCliDocs, renderCliDocs } from '../../../scripts/cli-docs.ts'
import {
  CliError,
  combineExitCodes,
  EXIT,
  exitCodeOfError,
  exitCodeOfStatus,
} from '../../../src/cli/exit-codes.ts'
import { createProgram } from '../../../src/cli/program.ts'
import { SourceError } from '../../../src/domain/source/source-error.ts'
import { ConfigError, EntrepotError } from '../../../src/errors.ts'
import { CLI, runCli, runProcess, runShell, temporaryFile } from '../../helpers/run-cli.ts'

function unused(): never {
  throw new Error('no command is run here')
}
const program = await createProgram(
  { env: {}, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr },
  {
    openRegistryClient: unused,
    serve: unused,
    serveAgents: unused,
    checkStore: unused,
    mintKey: unused,
    backupStore: unused,
    restoreStore: unused,
    setExitCode: unused,
    version: '0.0.0',
  },
)

const leaves = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leaves)

test('program: every command of the contract exists, and its help has an example', (t) => {
  const names = leaves(program).map((command) => command.name())
  const expected =
    'listings watch listing facets filters review add publish update delete close validate sync mine new address serve check init secret mint list revoke rotate new show block unblock blocks audit backup restore schema mcp sources doctor completion'
  t.deepEqual(names, expected.split(' '))
  for (const command of leaves(program)) {
    let help = ''
    command
      .configureOutput({
        writeOut: (text) => {
          help += text
        },
      })
      .outputHelp()
    t.regex(help, /\nExample:\n {2}\S/, command.name())
  }
})

test('program: the help lists commands by who runs them', async (t) => {
  const { stdout } = await runCli(['--help'])
  const headings = [...stdout.matchAll(/^(\w+):$/gm)].map(([, heading]) => heading)
  t.deepEqual(headings, ['Options', 'Buyers', 'Sellers', 'Operators', 'Everyone'])
})

test('program: docs/cli.md matches the definitions (npm run docs)', async (t) => {
  t.is(await renderCliDocs(), readCliDocs())
})

test.serial('completion: scripts are well-formed and know commands and flags', async (t) => {
  const bash = (await runCli(['completion', 'bash'])).stdout
  const typed = [
    'keys m',
    'listings --fil',
    'update x --status c',
    'listings -f gpu_m',
    'listings --policy ch',
  ]
  const asks = [...typed, 'completion z'].map((words) => {
    const at = words.split(' ').length
    return `COMP_WORDS=(entrepot ${words}); COMP_CWORD=${at}; _entrepot; echo "\${COMPREPLY[@]}"`
  })
  const script = temporaryFile(t, 'completion.bash', [bash, ...asks].join('\n'))
  const { stdout, stderr } = spawnSync('bash', [script], { encoding: 'utf8' })
  t.deepEqual([stdout, stderr], ['mint\n--filter\nclosed\ngpu_model=\ncheapest\nzsh\n', ''])
  for (const shell of ['zsh', 'fish'])
    t.regex((await runCli(['completion', shell])).stdout, /discovery-timeout/)
  t.is((await runCli(['completion', 'tcsh'])).code, 1)
})

test.serial('program: a usage error exits 1 on stderr; help exits 0 on stdout', async (t) => {
  for (const args of [['listings', '--limit', '0'], ['nonsense'], ['listings', '-r', 'ftp://x']]) {
    const { code, stdout, stderr } = await runProcess(args)
    t.deepEqual([code, stdout], [1, ''], args.join(' '))
    t.regex(stderr, /^entrepot: /, args.join(' '))
  }
  t.regex((await runCli(['listings', '--limit', '0'])).stderr, /See 'entrepot listings --help'\.\n$/)
  t.regex((await runCli(['keys', 'frob'])).stderr, /See 'entrepot keys --help'\.\n$/)
  const help = await runProcess(['--help'])
  t.is(help.code, 0)
  t.regex(help.stdout, /^Usage: entrepot /)
  t.is((await runCli(['help', 'nosuch', 'serve'])).stderr.split("See 'entrepot")[0], help.stdout)
})

const withFullDevice = existsSync('/dev/full') ? test.serial : test.skip

withFullDevice('program: output that cannot be written exits 74 with one line', async (t) => {
  const { code, stderr } = await runShell(`${CLI} completion bash > /dev/full`)
  t.is(code, 74)
  t.regex(stderr, /^entrepot: stdout cannot be written: ENOSPC[^\n]*\n$/)
})

test('exit codes: each kind of error, each status and all parts together have theirs', (t) => {
  for (const [cause, code] of [
    [new CliError(EXIT.badData, 'bad'), EXIT.badData],
    [new ConfigError([{ path: 'PORT', message: 'bad' }]), EXIT.badConfig],
    [new SourceError('unauthorized', 'no'), EXIT.notAuthorized],
    [new SourceError('timeout', 'late'), EXIT.noAnswer],
    [new EntrepotError('bad_request', 'unknown filter'), EXIT.failure],
    [new TypeError('unexpected'), EXIT.failure],
    ['a text', EXIT.failure],
  ] as const)
    t.is(exitCodeOfError(cause), code, String(cause))
  const byStatus = [200, 204, 302, 400, 401, 403, 404, 409, 413, 422, 429, 500]
  t.deepEqual(byStatus.map(exitCodeOfStatus), [0, 0, 1, 65, 77, 77, 1, 65, 65, 65, 4, 4])
  for (const [codes, combined] of [
    [[], EXIT.ok],
    [[0, 0], EXIT.ok],
    [[0, 77], EXIT.partial],
    [[77, 77], EXIT.notAuthorized],
    [[77, 4], EXIT.failure],
  ] as const)
    t.is(combineExitCodes(codes, EXIT.failure), combined, codes.join())
})
