import { type Command, InvalidArgumentError } from 'commander'

export const JSON_OPTION = ['--json', 'JSON, on a terminal too'] as const

export const addRegistries = (command: Command): Command =>
  command.option(
    '-r, --registries <url>',
    'a Registry, or several with commas between; repeatable (default: [registry] urls)',
    collect,
  )

export const addDiscovery = (command: Command): Command =>
  command.option(
    '--discovery-timeout <seconds>',
    'for each Registry (default: [registry] discovery_timeout, or 5)',
    seconds,
  )

export const addSigning = (command: Command): Command =>
  command
    .option(
      '--key-file <file>',
      'private key in hex, or an encrypted keystore (default: ENTREPOT_PRIVATE_KEY)',
    )
    .option(
      '--deadline <seconds>',
      'for the whole command, including the waits that a Registry asks for with Retry-After (default: 3600)',
      seconds,
    )
    .option(...JSON_OPTION)

export const addOperator = (command: Command): Command =>
  command
    .option('-r, --registries <url>', 'the Registry (default: http://$HOST:$PORT)', collect)
    .option(...JSON_OPTION)

export const collect = (value: string, before: readonly string[] = []): string[] => [...before, value]

export const count =
  (least: number) =>
  (text: string): number => {
    if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text)
    throw new InvalidArgumentError(`Expected a whole number of at least ${least}.`)
  }

export function seconds(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && value > 0 && value <= 86_400) return value
  throw new InvalidArgumentError('Expected a number of seconds above 0.')
}
