/** A piece of Lua text; comments and spaces are `other`. */
export interface LuaToken {
  kind: 'name' | 'number' | 'string' | 'sign' | 'other';
  text: string;
  /** Where it begins. */
  at: number;
}

const TOKEN =
  /(?<other>\s+|--\[(?<level>=*)\[[^]*?\]\k<level>\]|--[^\n]*)|(?<string>'(?:\\[^]|[^'\\])*'|"(?:\\[^]|[^"\\])*"|\[(?<depth>=*)\[[^]*?\]\k<depth>\])|(?<name>[A-Za-z_]\w*)|(?<number>\d[\w.]*)|(?<sign>\.{2,3}|[=~<>]=|[^])/gy;

/** Splits a Lua text; the texts of the tokens, one after another, are the whole. */
export const luaTokens = (text: string): LuaToken[] =>
  Array.from(text.matchAll(TOKEN), ({ 0: token, index, groups }) => {
    const kinds = ['name', 'number', 'string', 'other'] as const;
    return { kind: kinds.find((kind) => groups![kind] !== undefined) ?? 'sign', text: token, at: index };
  });

/** The line of a place in a text, from 1. */
export const lineAt = (text: string, at: number): number => text.slice(0, at).split('\n').length;
