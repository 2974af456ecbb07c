import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { staticFile, type StaticFile } from '../operations/static-file.ts';

export interface PageFile extends StaticFile {
  /** Path of its URL. */
  path: string;
}

/** A page for browsers: one document and the files that it loads. */
export interface Page {
  /** Its path, e.g. `/console`. */
  at: string;
  document: PageFile;
  assets: readonly PageFile[];
  /** Whether the document also answers paths below it; the page then chooses the view. */
  views: boolean;
  /** Its content security policy. */
  policy: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const compressed = (file: string): Buffer | null => (existsSync(file) ? readFileSync(file) : null);

/**
 * Reads a built page: `index.html`, and files with hashed names in `assets`. Everything is read at start, so that no request accesses the file
 * system. `null` if the page is not built. Throws for a file of an unknown type.
 */
export function readPage({
  folder,
  at,
  views,
  policy,
}: Omit<Page, 'document' | 'assets'> & { folder: string }): Page | null {
  if (!existsSync(join(folder, 'index.html'))) return null;
  const read = (file: string, path: string, immutable: boolean): PageFile => {
    const contentType = TYPES[extname(file)];
    if (contentType === undefined) throw new Error(`${file} is of a type that no page has`);
    const [brotli, gzip] = [compressed(`${file}.br`), compressed(`${file}.gz`)];
    return { path, ...staticFile(readFileSync(file), { contentType, brotli, gzip, immutable }) };
  };
  const assets = readdirSync(join(folder, 'assets'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(?:br|gz)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => read(file, `${at}/${relative(folder, file).replaceAll('\\', '/')}`, true));
  return { at, document: read(join(folder, 'index.html'), at, false), assets, views, policy };
}
