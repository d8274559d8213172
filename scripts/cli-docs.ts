import { readFileSync, writeFileSync } from 'node:fs'
import type { Argument, Command, Option } from 'commander'
import type { Services } from '../src/cli/command.ts'
import { EXIT, type ExitCode } from '../src/cli/exit-codes.ts'
import { createProgram } from '../src/cli/program.ts'

/** `npm run docs` writes `docs/cli.md` from the definitions of the commands. */

export const CLI_DOCS = 'docs/cli.md'

/** The text of `docs/cli.md`. */
export async function renderCliDocs(): Promise<string> {
  const { env, stdin, stdout, stderr } = process
  // No command runs here.
  const program = await createProgram({ env, stdin, stdout, stderr }, { version: '' } as Services)
  return [
    '# entrepot: the command line',
    '',
    '<!-- Written by `npm run docs`; change the definitions in src/cli instead. -->',
    '',
    `${program.description()}.`,
    '',
    '## Options of every command',
    '',
    ...options(program.options),
    '',
    ...program.commands.flatMap((command) => describe(command, 'entrepot')),
    ...CONVENTIONS,
    ...Object.values(EXIT).map((code) => `| ${code} | ${EXIT_MEANINGS[code]} |`),
    '',
  ].join('\n')
}

export const readCliDocs = (): string => readFileSync(CLI_DOCS, 'utf8')

const EXIT_MEANINGS: Readonly<Record<ExitCode, string>> = {
  0: 'success',
  1: 'wrong usage, not found, or an unexpected error',
  3: 'some Registries, or the storefront of `review`, failed; the output is partial',
  4: 'no Registry answered, or only with 429 or 5xx: it may do so later',
  65: 'invalid input data',
  74: 'the output could not be written',
  77: 'not authorized: a key is refused or missing, or a Registry answers signed requests only',
  78: 'invalid configuration',
  130: 'interrupted; what was done until then is printed',
}

function describe(command: Command, parent: string): string[] {
  const path = `${parent} ${command.name()}`
  const head = [`${parent === 'entrepot' ? '##' : '###'} ${path}`, '', sentence(command.description()), '']
  if (command.commands.length > 0) return [...head, ...command.commands.flatMap((one) => describe(one, path))]
  return [
    ...head,
    '```text',
    `${path} ${command.usage()}`,
    '```',
    '',
    ...(command.registeredArguments.length > 0 ? [...argumentList(command.registeredArguments), ''] : []),
    ...(command.options.length > 0 ? [...options(command.options), ''] : []),
    ...example(command),
  ]
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

const argumentList = (list: readonly Argument[]): string[] =>
  list.map((argument) => `- \`${argument.name()}\`: ${argument.description}${choices(argument)}`)

const options = (list: readonly Option[]): string[] =>
  list.map((option) => `- \`${option.flags}\`: ${option.description}${choices(option)}`)

function choices({ argChoices, defaultValue }: Pick<Option, 'argChoices' | 'defaultValue'>): string {
  if (argChoices === undefined) return ''
  const ordinary = defaultValue === undefined ? '' : `; default: ${defaultValue}`
  return ` (${argChoices.join(', ')}${ordinary})`
}

/** The example is at the end of a command's help. */
function example(command: Command): string[] {
  let help = ''
  const writeOut = (text: string): void => {
    help += text
  }
  command.configureOutput({ writeOut }).outputHelp()
  return ['```sh', help.slice(help.lastIndexOf('\n  ')).trim(), '```', '']
}

const CONVENTIONS = `## Output

Data goes to stdout, and nothing else does. How each Registry answered goes to stderr. On a terminal, listings are a table
and results are lines; in a pipe, or with \`--json\`, they are JSON. \`--quiet\`
leaves only errors and warnings on stderr. In tables, prices are of one GPU, in whole tokens where
the token is known, else in units: a listing does not state decimals. With \`--sort price\`, a ceiling and \`facets\`, every
listing that matches is read. Control characters are escaped in text that others wrote, and in what a policy prints
to stderr. A policy gets the environment of the command, without the secrets of this program. \`review\` ends with exit code 3
where the storefront did not answer, as in the demo, which has no storefronts: what it would say is
null. As JSON a review is a presentation record, the form of \`docs/protocol.md\`, 11.

## Writes

\`publish\`, \`sync\`, \`update\` and \`delete\` sign each request when it is sent. After a response with \`Retry-After\`, all
requests to that Registry wait for that long; a line on stderr states the reason and the progress. A request without an answer,
or with a 5xx, is repeated unchanged, at most twice, so the Registry applies it once. It is safe to publish the same file again.
A wallet has one storefront: that of the last listing of a file. After five failures in a row a Registry is skipped; a listing
that it refuses for its content is no such failure. A Registry with a write gate needs a key under \`[registry.auth]\`.

\`publish\` and \`sync\` send nothing while a listing does not fit the listing shape of a Registry, or looks like a mistake: a name
that resembles a known one (a member, model, place, unit, chain or token), a value that is no whole number, an address without 40 digits, a chain that the Registry
does not know, a price below 1 % of the median of its model there. Each is printed with its line and what may be meant, and the exit code
is 65. What is merely unknown is a warning. \`--as-is\` publishes the file as it is; to publish only some members of a listing that the
Registry has already, it is needed, too. \`validate\` checks the same. Before anything is sent, the prices are printed as buyers read
them, of many the twenty lowest and the twenty highest. A listing file may have \`price: 2.10 USDC per GPU-hour\` in place of a value:
it is that of the rates in this token and unit that have none, for the \`gpu_count\` of the offer.

\`sync\` makes the open listings of the wallet those of the file: it publishes new and changed ones, opens closed ones, and closes
those that the file does not have. It writes nothing to a Registry whose listings it could not read in full.

\`close --all\` closes every open listing of the wallet. It asks first, and \`sync\` asks where it would close more than a tenth and more
than three of the open listings of a Registry. In a pipe both refuse without \`--yes\`, or \`--max-close N\` for up to so many.

Each write of each Registry has a result: \`registry\`, \`listing_id\`, \`action\`, \`outcome\`, \`status\` (of HTTP, or null), and \`error\` or
\`answer\`. In a pipe they are a JSON array at the end; \`--ndjson\` prints each as soon as it is known. SIGINT and SIGTERM
end the writes and print all results. \`publish --only-failed RESULTS\` goes on from there.

| outcome | meaning |
|---|---|
| \`accepted\` | the Registry answered with its receipt: 201 and the listing_id, 200 and the status, or 204 |
| \`refused\` | the Registry refused it, and the error says why |
| \`unknown\` | the answer was lost (also 502, 503 and 504), so it may have been applied; repeat it, which is safe |
| \`no_answer\` | no connection was made |
| \`invalid_answer\` | a success without a receipt: no Registry is at that URL |
| \`not_sent\` | the Registry was skipped, the deadline had passed, or the command was interrupted |

## Recovery

- **The file of listings is lost**: \`entrepot mine --export --key-file seller.json > listings.json\` writes it again, numbers with all
  their digits. \`sync\` with it changes nothing.
- **The machine is lost**, and a backup of the keystore is not: the same. The address alone is enough to read them:
  \`entrepot listings --publisher 0x… --status all --all --json > listings.json\`.
- **The keystore or its passphrase is lost**: no other key can change or close its listings. They stay open until the operator of
  each Registry removes them. A new wallet publishes them under new ids.

## Configuration

The buyer configuration is \`$XDG_CONFIG_HOME/arkhai/buyer.toml\`, merged deeply with \`buyer.secrets.toml\`, which wins.
\`XDG_CONFIG_HOME\` defaults to \`~/.config\`. With \`--config FILE\`, only that file is read, and it has to exist.

Where no option and no file names a Registry, reads take \`http://localhost:8080\`, with a warning, and writes are refused. A file
that is not TOML, or has a value of a wrong type, ends a command before anything is sent, with exit code 78. Only for reads with
\`-r\` such a default file is a warning. Unknown sections and settings of a file named by \`--config\` are errors, too. The default
files may have sections of other programs: a name that resembles a known one is a warning there, and an error for writes.

\`\`\`toml
[registry]
urls = ["https://registry.example", "http://localhost:8080"]
discovery_timeout = 5.0

[registry.auth]
"https://registry.example" = "…"   # sent only to this URL; case of the host and default port do not count

[tokens]                           # instead of those of the package: USDC on Base and Ethereum
"base:0x833589fCD6eDb6E08f4c7C32D4f71b54bDA02913" = { symbol = "USDC", decimals = 6 }
\`\`\`

## Environment

- \`ENTREPOT_PRIVATE_KEY\`: the seller's key, 32 bytes in hex; used without \`--key-file\`.
- \`ENTREPOT_KEY_PASSPHRASE_FILE\`: a file with the passphrase of the keystore. Without it the passphrase is asked on the
  terminal, or read from a pipe.
- \`REGISTRY_ADMIN_API_KEY\`, or a file named by \`REGISTRY_ADMIN_API_KEY_FILE\`: the admin key, for \`entrepot keys\`.
- \`HOST\`, \`PORT\`: the address of the operator's own service, for \`entrepot keys\` without \`-r\`.
- \`NO_COLOR\`, \`CI\`: no colour and no progress.
- \`HTTP_PROXY\`, \`HTTPS_PROXY\`: not read; requests go straight to the Registries.

## Exit codes

| code | meaning |
|---|---|`.split('\n')

if (import.meta.main) writeFileSync(CLI_DOCS, await renderCliDocs())
