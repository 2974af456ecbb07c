import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { signIn } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { Logo } from '../ui/logo.tsx';
import { Failed } from '../ui/parts.tsx';

export function SignIn() {
  const queries = useQueryClient();
  const [key, setKey] = useState('');
  const attempt = useMutation({ mutationFn: () => signIn({ key: key.trim() }, queries) });
  return (
    <main className="grid min-h-dvh place-items-center p-4">
      <form
        className="flex w-full max-w-sm flex-col gap-4 rounded-xl border border-line bg-surface p-6"
        onSubmit={(event) => {
          event.preventDefault();
          attempt.mutate();
        }}
      >
        <h1 className="flex items-center gap-2 text-lg font-semibold">
          <Logo size={24} /> Sign in to Laurel
        </h1>
        <label className="flex flex-col gap-1">
          <span className="font-medium">Admin key</span>
          <input
            type="password"
            required
            autoComplete="current-password"
            spellCheck={false}
            placeholder="adm_… "
            value={key}
            onChange={({ target }) => setKey(target.value)}
            className="h-9 rounded-md border border-line-strong bg-surface px-2.5 font-mono"
          />
        </label>
        {attempt.isError && <Failed error={attempt.error} />}
        <Button type="submit" look="primary" disabled={attempt.isPending}>
          Sign in
        </Button>
        <p className="text-muted">
          The first start prints the key, and a link that signs you in once; <code>npx laurel console</code> prints
          another link. A session lasts 12 hours. With a read-only key you can see everything and change nothing.
        </p>
      </form>
    </main>
  );
}
