import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { version } from '../../src/version.ts';
import { inFewFiles } from '../stack/in-few-files.ts';
import { runCli } from './run-cli.ts';

function* leaves(command: Command, words: string[] = []): Generator<{ name: string; command: Command }> {
  for (const each of command.commands) {
    if (each.commands.length > 0) yield* leaves(each, [...words, each.name()]);
    else yield { name: [...words, each.name()].join(' '), command: each };
  }
}

/** A command's help including the added texts. */
function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (written) => (text += written) });
  command.outputHelp();
  return text;
}

test('every command has examples that name it, explains its arguments, and can print JSON', () => {
  const found = [...leaves(createProgram())];
  expect(found.map(({ name }) => name)).toContain('webhooks deliveries');
  const wrong = found.flatMap(({ name, command }) => [
    ...(new RegExp(`Examples:\n(  laurel .*\n)*  laurel ${name}`).test(helpOf(command))
      ? []
      : [`${name}: no examples`]),
    ...(command.options.some(({ long }) => long === '--json') ? [] : [`${name}: no --json`]),
    ...command.registeredArguments
      .filter(({ description }) => description === '')
      .map((argument) => `${name}: ${argument.name()}`),
  ]);
  expect(wrong).toEqual([]);
  const defaults = found.flatMap(({ command }) => helpOf(command).match(/\(default: [[{][^)]*/g) ?? []);
  expect(defaults).toEqual([]);
});

test('a closed standard output, as of `| head`, is no error', async () => {
  const child = spawn(process.execPath, [join(await inFewFiles(), 'src/cli/main.js'), '--help'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Before the command writes.
  child.stdout.destroy();
  let err = '';
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString('utf8')));
  const [code] = (await once(child, 'close')) as [number | null];
  expect({ code, err }).toEqual({ code: 0, err: '' });
});

test('--version, and completion of commands, options and choices', async () => {
  expect(await runCli(['--version'], {})).toEqual({ code: 0, out: `${version()}\n`, err: '' });
  for (const shell of ['bash', 'zsh', 'fish'])
    expect(await runCli(['completion', shell], {})).toMatchObject({
      code: 0,
      out: expect.stringContaining('complete --'),
    });
  expect((await runCli(['complete', '--', 'config', ''], {})).out).toMatch(/^pull\t.*\ndiff\t/);
  expect((await runCli(['complete', '--', 'config', 'pull', '--fr'], {})).out).toContain('--from-key');
});
