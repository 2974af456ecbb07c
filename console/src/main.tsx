import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Problem } from './api/answer.ts';
import { sent } from './api/client.ts';
import { forget, sessionQuery, signIn } from './api/session.ts';
import { router } from './router.tsx';
import { applyTheme } from './shell/theme.ts';
import './styles.css';
import { Toasts } from './ui/toasts.tsx';

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // A refused request would be refused again.
      retry: (count, error) => count < 2 && !(error instanceof Problem && error.status > 0 && error.status < 500),
    },
  },
});
sent.onSignedOut = () => {
  // Without a session there is nothing to clear.
  if (queries.getQueryData(sessionQuery.queryKey)) forget(queries);
};

/** The link that a start prints holds a token in its fragment, which no server and no log ever sees. */
async function openLink(): Promise<void> {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (token === undefined) return;
  history.replaceState(null, '', location.pathname);
  // The link was used before: an existing session continues; otherwise the page asks for a key.
  await signIn({ token }, queries).catch(() => undefined);
}

applyTheme();
await openLink();
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Toasts>
        <RouterProvider router={router} />
      </Toasts>
    </QueryClientProvider>
  </StrictMode>,
);
