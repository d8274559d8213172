import { EXIT } from './exit.ts'
import { withExample } from './manual.ts'
import type { AddCommands } from './program.ts'
import { print } from './terminal.ts'

export const addOwnCommands: AddCommands = (program, { terminal, guard }) => {
  withExample(
    program
      .command('completion')
      .description('print a completion script')
      .argument('<shell>', 'bash, zsh or fish'),
    'eval "$(entrepot completion bash)"',
  ).action((shell: string) =>
    guard(async () => {
      const { completionScript } = await import('./completion.ts')
      await print(terminal, completionScript(program, shell))
      return EXIT.ok
    }),
  )

  withExample(
    program.command('manual').description('print this manual as Markdown'),
    'entrepot manual > docs/cli.md',
  ).action(() =>
    guard(async () => {
      const { renderManual } = await import('./manual.ts')
      await print(terminal, renderManual(program))
      return EXIT.ok
    }),
  )
}
