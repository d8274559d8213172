import test from 'ava'
import {
  CliError,
  combineExitCodes,
  EXIT,
  EXIT_MEANINGS,
  type ExitCode,
  exitCodeOfError,
  exitCodeOfStatus,
} from '../../src/cli/exit-codes.ts'
import { SourceError } from '../../src/domain/source/source-error.ts'
import { ConfigError, EntrepotError } from '../../src/errors.ts'

test('exit codes: every code has a meaning in the manual', (t) => {
  t.deepEqual(Object.keys(EXIT_MEANINGS).map(Number), Object.values(EXIT))
})

test('exit codes: each kind of error has its code', (t) => {
  const cases: [cause: unknown, code: ExitCode][] = [
    [new CliError(EXIT.badData, 'bad'), EXIT.badData],
    [new ConfigError([{ path: 'PORT', message: 'bad' }]), EXIT.badConfig],
    [new SourceError('unauthorized', 'no'), EXIT.notAuthorized],
    [new SourceError('timeout', 'late'), EXIT.noAnswer],
    [new EntrepotError('bad_request', 'unknown filter'), EXIT.failure],
    [new TypeError('unexpected'), EXIT.failure],
    ['a text', EXIT.failure],
  ]
  for (const [cause, code] of cases) t.is(exitCodeOfError(cause), code, String(cause))
})

test('exit codes: each status of a response has its code', (t) => {
  const byStatus = [200, 204, 302, 400, 401, 403, 404, 409, 413, 422, 429, 500]
  t.deepEqual(byStatus.map(exitCodeOfStatus), [0, 0, 1, 65, 77, 77, 1, 65, 65, 65, 1, 1])
})

test('exit codes: of several parts, one reason, partial, or the code for mixed reasons', (t) => {
  const cases: [codes: ExitCode[], combined: ExitCode][] = [
    [[], EXIT.ok],
    [[0, 0], EXIT.ok],
    [[0, 77], EXIT.partial],
    [[77, 77], EXIT.notAuthorized],
    [[4], EXIT.noAnswer],
    [[65, 65], EXIT.badData],
    [[77, 4], EXIT.failure],
  ]
  for (const [codes, combined] of cases) t.is(combineExitCodes(codes, EXIT.failure), combined, codes.join())
})
