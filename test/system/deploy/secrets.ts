import { execFileSync } from 'node:child_process'
import type { ExecutionContext } from 'ava'
import { temporaryFolder } from '../../helpers/run-cli.ts'

export const MAKE_SECRETS = 'deploy/make-secrets.sh'

/** A folder with the secrets of `deploy/make-secrets.sh`, removed when the test ends. */
export function makeSecrets(t: ExecutionContext): string {
  const folder = temporaryFolder(t)
  execFileSync('sh', [MAKE_SECRETS, folder])
  return folder
}
