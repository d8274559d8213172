import type { Argument, Command, Option } from 'commander'

export const renderManual = (program: Command): string =>
  [
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
  ].join('\n')

function describe(command: Command, parent: string): string[] {
  const path = `${parent} ${command.name()}`
  if (command.commands.length > 0)
    return [
      `## ${path}`,
      '',
      `${command.description()}.`,
      '',
      ...command.commands.flatMap((one) => describe(one, path)),
    ]
  return [
    `${parent === 'entrepot' ? '##' : '###'} ${path}`,
    '',
    `${command.description()}.`,
    '',
    '```text',
    `${path} ${command.usage()}`,
    '```',
    '',
    ...(command.registeredArguments.length > 0 ? [...argumentList(command.registeredArguments), ''] : []),
    ...(command.options.length > 0 ? [...options(command.options), ''] : []),
    ...examples(command),
  ]
}

const argumentList = (list: readonly Argument[]): string[] =>
  list.map((argument) => `- \`${argument.name()}\`: ${argument.description}`)

const options = (list: readonly Option[]): string[] =>
  list.map(({ flags, description }) => `- \`${flags}\`: ${description}`)

const exampleTexts = new WeakMap<Command, string>()

/** For `--help` and the manual. */
export function withExample(command: Command, example: string): Command {
  exampleTexts.set(command, example)
  return command.addHelpText('after', `\nExample:\n  ${example.replaceAll('\n', '\n  ')}`)
}

function examples(command: Command): string[] {
  const text = exampleTexts.get(command)
  return text === undefined ? [] : ['```sh', text, '```', '']
}

const CONVENTIONS = `## What goes where

Data, and nothing else, goes to stdout; what each Registry answered goes to stderr. On a terminal, listings are a table
and results are lines; in a pipe, or with \`--json\`, they are JSON. Prices are base units of the named token, since a
listing does not tell its decimals. Text that others wrote, and what a policy prints to stderr, has its control characters
escaped. A policy gets the environment of the command without the secrets of this program.

## Writes

\`publish\`, \`update\` and \`delete\` sign each request when it is sent. Where a Registry answers with \`Retry-After\`, all
requests to it wait for as long as it says; a line on stderr has the reason, and how many are done. A request without an
answer is repeated as it was, twice, so that the Registry takes it once. What \`--deadline\` does not allow is a failed result;
publishing the file again is safe. A wallet has one storefront: listings that name another are sent after each other.

## Configuration

\`$XDG_CONFIG_HOME/arkhai/buyer.toml\` and then \`buyer.secrets.toml\` (\`~/.config/arkhai\` where it is unset), merged
deeply, the later one winning; \`--config FILE\` reads only that file.

\`\`\`toml
[registry]
urls = ["https://registry.example", "http://localhost:8080"]
discovery_timeout = 5.0

[registry.auth]
"https://registry.example" = "…"   # sent only where the URL is equal to the character
\`\`\`

## Environment

- \`ENTREPOT_PRIVATE_KEY\`: the seller's key, 32 bytes in hex, where \`--key-file\` is not given.
- \`REGISTRY_ADMIN_API_KEY\`, or a file that \`REGISTRY_ADMIN_API_KEY_FILE\` names: the operator's key, for
  \`entrepot keys\`.
- \`HOST\`, \`PORT\`: where \`entrepot keys\` finds the operator's own service without \`-r\`.
- \`NO_COLOR\`, \`CI\`: neither colour nor progress.

## Exit codes

| code | meaning |
|---|---|
| 0 | all good |
| 1 | usage, not found, or unexpected |
| 3 | some Registries failed; the output is partial |
| 4 | no Registry answered |
| 65 | bad input data |
| 77 | not authorized |
| 78 | bad configuration |
`.split('\n')
