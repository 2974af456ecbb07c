import { readFile, rename, writeFile } from 'node:fs/promises';
import { CommandError } from '../command-error.ts';

/** A document as the file holds it: fields in the order in which the server sends them, two spaces, a line end. */
export const documentText = (document: unknown): string => `${JSON.stringify(document, null, 2)}\n`;

/** Reads a document. Ends the command, naming the line, where it is not one. */
export async function readDocument(file: string): Promise<object> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(
      `${file} cannot be read: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}.`,
    );
  });
  let document: unknown;
  try {
    document = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new CommandError(`${file}${lineOf(error as Error, text)} is not valid JSON: ${(error as Error).message}`);
  }
  if (document === null || typeof document !== 'object' || Array.isArray(document))
    throw new CommandError(`${file} must hold an object, as \`laurel config pull\` writes it.`);
  return document;
}

/** Writes a document as a whole: the file holds what it held before, or the new text. */
export async function writeDocument(file: string, text: string): Promise<void> {
  const unfinished = `${file}.${process.pid}.tmp`;
  try {
    await writeFile(unfinished, text);
    await rename(unfinished, file);
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${(error as Error).message}.`);
  }
}

/** `:3` for a fault in the third line, where the parser reports the place. */
function lineOf({ message }: Error, text: string): string {
  const position = /at position (\d+)/.exec(message)?.[1];
  const at = position === undefined ? (/end of JSON input/.test(message) ? text.length : null) : Number(position);
  return at === null ? '' : `:${text.slice(0, at).split('\n').length}`;
}
