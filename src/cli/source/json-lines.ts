import { createReadStream } from 'node:fs';
import { appendFile, open, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { CommandError } from '../command.ts';

export interface Line {
  no: number;
  text: string;
  value: unknown;
}

const LINE_END = 10;

/** The non-empty lines of a file, one at a time; `-` means standard input. Ends the command if the file cannot be read. */
export async function* jsonLines(file: string): AsyncGenerator<Line> {
  if (file !== '-') await present(file);
  const input = file === '-' ? process.stdin.setEncoding('utf8') : createReadStream(file, 'utf8');
  let no = 0;
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    no += 1;
    if (text.trim() !== '') yield { no, text, value: parsed(text) };
  }
}

/** The non-empty lines of a text file. Ends the command if it cannot be read. */
export async function* textLines(file: string): AsyncGenerator<string> {
  await present(file);
  for await (const text of createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity }))
    if (text.trim() !== '') yield text.trim();
}

/** Appends lines in a single write. */
export const addLines = (file: string, values: readonly unknown[]): Promise<void> =>
  appendFile(file, values.map((value) => `${JSON.stringify(value)}\n`).join(''));

/** Removes a last line that a killed process did not finish. Creates the file if it does not exist. */
export async function cutUnfinished(file: string): Promise<void> {
  const handle = await open(file, 'a+');
  try {
    let { size } = await handle.stat();
    const byte = Buffer.alloc(1);
    for (; size > 0; size -= 1) {
      await handle.read(byte, 0, 1, size - 1);
      if (byte[0] === LINE_END) break;
    }
    await handle.truncate(size);
  } finally {
    await handle.close();
  }
}

async function present(file: string): Promise<void> {
  await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(
      `${file} cannot be read: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}.`,
    );
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}
