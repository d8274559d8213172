import { withExample } from './commands/manual.ts'
import { EXIT } from './exit-codes.ts'
import { print } from './output/terminal.ts'
import type { AddCommands } from './program.ts'

export const addOwnCommands: AddCommands = (program, { terminal, guard }) => {
  withExample(
    program
      .command('completion')
      .description('print a completion script')
      .argument('<shell>', 'bash, zsh or fish'),
    'eval "$(entrepot completion bash)"',
  ).action((shell: string) =>
    guard(async () => {
      const { completionScript } = await import('./commands/completion.ts')
      await print(terminal, completionScript(program, shell))
      return EXIT.ok
    }),
  )

  withExample(
    program.command('manual').description('print this manual as Markdown'),
    'entrepot manual > docs/cli.md',
  ).action(() =>
    guard(async () => {
      const { renderManual } = await import('./commands/manual.ts')
      await print(terminal, renderManual(program))
      return EXIT.ok
    }),
  )
}
