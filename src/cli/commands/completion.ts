import { Argument, type Command } from 'commander'
import { shippedFile } from '../../config/shipped-files.ts'
import { readFilterSpec } from '../../filter-spec/load.ts'
import type { CommandDefinition } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { print } from '../output/terminal.ts'
import { POLICY_NAMES } from '../policy/apply-policy.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

export const completionCommand: CommandDefinition = {
  summary: 'print a completion script for a shell',
  define: (command) => command.addArgument(new Argument('<shell>', 'name of the shell').choices(SHELLS)),
  example: 'eval "$(entrepot completion bash)"',
  run: async ({ terminal, loadProgram }, _options, [shell = '']) => {
    await print(terminal, completionScript(await loadProgram(), shell))
    return EXIT.ok
  },
}

function completionScript(program: Command, shell: string): string {
  const filters = readFilterSpec(shippedFile('filter-spec.yaml')).filters.keys()
  const levels = levelsOf(program, {
    '--policy': POLICY_NAMES,
    '--filter': Array.from(filters, (name) => `${name}=`),
  })
  if (shell === 'bash') return bash(levels)
  return shell === 'zsh' ? zsh(levels) : fish(levels)
}

/** `values`: those that an option takes, or some of them. */
type Entry = {
  name: string
  short?: string | undefined
  description: string
  values?: readonly string[] | undefined
}
/** What may follow `path`: `''` for the program, `keys`, `keys mint`. */
type Level = { path: string; commands: Entry[]; options: Entry[] }

type Suggestions = Readonly<Record<string, readonly string[]>>

function levelsOf(command: Command, suggestions: Suggestions, path = ''): Level[] {
  const { commands } = command
  const level: Level = {
    path,
    commands: [
      ...commands.map((one) => ({ name: one.name(), description: firstSentence(one.description()) })),
      ...(command.registeredArguments[0]?.argChoices ?? []).map((name) => ({ name, description: name })),
    ],
    options: [...globalOptions(command), ...command.options, HELP].map((option) => ({
      name: option.long ?? option.short ?? '',
      description: firstSentence(option.description),
      short: option.short,
      values: ('argChoices' in option ? option.argChoices : undefined) ?? suggestions[option.long ?? ''],
    })),
  }
  return [level, ...commands.flatMap((one) => levelsOf(one, suggestions, `${path} ${one.name()}`.trim()))]
}

const HELP = { long: '--help', short: '-h', description: 'display help for command' }

const globalOptions = ({ parent }: Command): readonly Command['options'][number][] =>
  parent === null
    ? []
    : [...globalOptions(parent), ...parent.options.filter(({ long }) => long !== '--version')]

const firstSentence = (text: string): string =>
  text
    .split(/[.;:(]/)[0]
    ?.trim()
    .replaceAll("'", '’') ?? ''

const names = (entries: readonly Entry[]): string => entries.map(({ name }) => name).join(' ')

const paths = (levels: readonly Level[]): string => levels.map(({ path }) => path).join('|')

const bash = (
  levels: readonly Level[],
): string => `# entrepot completion for bash: eval "$(entrepot completion bash)"
_entrepot() {
  local current="\${COMP_WORDS[COMP_CWORD]}" level="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    local next="\${level:+$level }$word"
    [[ "|${paths(levels)}|" == *"|$next|"* ]] && level="$next"
  done
  local commands="" options=""
  case "$level" in
${levels.map(({ path, commands, options }) => `    "${path}") commands="${names(commands)}" options="${names(options)}" ;;`).join('\n')}
  esac
  case "$level \${COMP_WORDS[COMP_CWORD-1]}" in
${valueCases(levels, (values) => `mapfile -t COMPREPLY < <(compgen -W "${values}" -- "$current"); ${values.endsWith('=') ? 'compopt -o nospace 2>/dev/null; ' : ''}return`)}
  esac
  if [[ "$current" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [[ -n "$commands" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _entrepot entrepot
`

/** Branches for the word after an option that takes one of a few values. */
const valueCases = (levels: readonly Level[], complete: (values: string) => string): string =>
  levels
    .flatMap(({ path, options }) =>
      options.flatMap(({ name, short, values }) =>
        values === undefined
          ? []
          : [
              `    ${[name, ...(short === undefined ? [] : [short])].map((one) => `"${path} ${one}"`).join('|')}) ${complete(values.join(' '))} ;;`,
            ],
      ),
    )
    .join('\n')

/** `path`, `commands` and `options` are zsh's own. */
const zsh = (levels: readonly Level[]): string => `#compdef entrepot
# entrepot completion for zsh: eval "$(entrepot completion zsh)"
_entrepot() {
  local level="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    local next="\${level:+$level }$word"
    [[ "|${paths(levels)}|" == *"|$next|"* ]] && level="$next"
  done
  local -a verbs flags
  case "$level" in
${levels.map(zshLevel).join('\n')}
  esac
  case "$level \${words[CURRENT-1]}" in
${valueCases(levels, (values) => `compadd ${values.endsWith('=') ? "-S '' " : ''}${values}; return`)}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe option flags
  elif (( \${#verbs} )); then
    _describe command verbs
  else
    _files
  fi
}
compdef _entrepot entrepot
`

function zshLevel({ path, commands, options }: Level): string {
  const list = (entries: readonly Entry[]): string =>
    entries.map(({ name, description }) => `'${name}:${description}'`).join(' ')
  return `    "${path}") verbs=(${list(commands)}) flags=(${list(options)}) ;;`
}

const fish = (levels: readonly Level[]): string =>
  [
    '# entrepot completion for fish: entrepot completion fish | source',
    ...levels.flatMap(({ path, commands, options }) => {
      const condition = fishCondition(path, commands)
      return [
        ...commands.map(
          ({ name, description }) =>
            `complete -c entrepot -f -n '${condition}' -a ${name} -d '${description}'`,
        ),
        ...options.map(({ name, short, description, values }) => {
          const taken = values === undefined ? '' : ` -x -a '${values.join(' ')}'`
          return `complete -c entrepot -n '${condition}' -l ${name.slice(2)}${short === undefined ? '' : ` -s ${short.slice(1)}`}${taken} -d '${description}'`
        }),
      ]
    }),
    '',
  ].join('\n')

function fishCondition(path: string, commands: readonly Entry[]): string {
  const seen = path === '' ? [] : path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`)
  const further = commands.length > 0 ? [`not __fish_seen_subcommand_from ${names(commands)}`] : []
  return [...seen, ...further].join('; and ') || 'true'
}
