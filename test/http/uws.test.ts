import { describe, expect, test } from 'vitest';
import { loadFirst } from '../../src/http/uws.ts';

describe('the HTTP server that this machine has a binary for', () => {
  test('one of the two releases loads', () => {
    expect(loadFirst(['uws-current', 'uws-older'])).toHaveProperty('App');
  });

  test('the first that loads is taken, also after one that does not', () => {
    expect(loadFirst(['uws-of-tomorrow', 'node:os', 'node:path'])).toHaveProperty('hostname');
  });

  test('where none loads, the sentence names the machine and says what runs', () => {
    const { node } = process.versions;
    expect(() => loadFirst(['uws-of-tomorrow', 'node:no-such-module'])).toThrow(
      `The HTTP server has no binary for Node ${node} on ${process.platform} ${process.arch}`,
    );
  });

  test('where none is installed, the sentence says how to install', () => {
    expect(() => loadFirst(['uws-of-tomorrow', 'uws-of-next-year'])).toThrow('without --omit=optional');
  });
});
