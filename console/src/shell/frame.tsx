import { useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { Fragment, useState } from 'react';
import { sessionQuery } from '../api/session.ts';
import { Failed, Waiting } from '../ui/parts.tsx';
import { Navigation } from './navigation.tsx';
import { SignIn } from './sign-in.tsx';
import { TestClock } from './test-clock.tsx';
import { TopBar } from './top-bar.tsx';

/** The frame around every screen. */
export function Frame() {
  const session = useQuery(sessionQuery);
  const [tenants, setTenants] = useState(0);
  if (session.isPending) return <Waiting />;
  if (session.isError)
    return (
      <div className="p-4">
        <Failed error={session.error} retry={() => void session.refetch()} />
      </div>
    );
  if (session.data === null) return <SignIn />;
  return (
    <div className="md:grid md:min-h-dvh md:grid-cols-[13rem_minmax(0,1fr)]">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded focus:bg-raised focus:px-3 focus:py-1"
      >
        Skip to the content
      </a>
      <aside className="sticky top-0 hidden h-dvh overflow-y-auto border-r border-line bg-surface md:block">
        <Navigation />
      </aside>
      <div className="min-w-0">
        <TopBar session={session.data} onTenant={() => setTenants(tenants + 1)} />
        <TestClock />
        {session.data.access === 'read' && <ReadOnly />}
        <main id="main" tabIndex={-1} className="outline-none">
          {/* What was chosen or written for one tenant must not reach another. */}
          <Fragment key={tenants}>
            <Outlet />
          </Fragment>
        </main>
      </div>
    </div>
  );
}

/** Explains why a session is read-only. */
const ReadOnly = () => (
  <section aria-label="Read-only session" className="border-b border-line bg-hover px-4 py-1.5 md:px-6">
    This session is <strong>read-only</strong>, because its key has read access. Controls that change something are not
    shown. To make changes, sign in with a key that has full access.
  </section>
);
