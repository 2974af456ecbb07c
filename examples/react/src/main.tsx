import { createLaurel, type Laurel } from 'laurel-client';
import { LaurelProvider, useLaurel, useUser } from 'laurel-client/react';
import { StrictMode, useEffect, useState, type FormEvent } from 'react';
import { createRoot } from 'react-dom/client';
import { AchievementToasts } from './achievement-toasts.tsx';
import { call } from './call.ts';
import { LeaderboardPanel } from './leaderboard-panel.tsx';
import { PointsShop } from './points-shop.tsx';
import { StreakCalendar } from './streak-calendar.tsx';
import './style.css';

interface Session {
  userId: string;
  laurelUrl: string;
}

/** The client of a user. Its key comes from the app's server, for which the session's cookie is enough. */
function clientOf({ userId, laurelUrl }: Session): Laurel {
  const key = async () => (await call<{ key: string }>('POST', '/api/key')).key;
  return createLaurel({ url: laurelUrl, key, user: userId });
}

function SignIn({ onSession }: { onSession: (session: Session) => void }) {
  const [error, setError] = useState('');
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = new FormData(event.currentTarget).get('name');
    const tz = Intl.DateTimeFormat().resolvedOptions().timeZone;
    try {
      onSession(await call<Session>('POST', '/api/session', { name, tz }));
    } catch {
      setError('That did not work. Is Laurel running?');
    }
  };
  return (
    <main className="sign-in">
      <h1>Flip</h1>
      <form className="panel" onSubmit={(event) => void submit(event)}>
        <label htmlFor="name">Your name</label>
        <input id="name" name="name" autoComplete="username" maxLength={50} required />
        <button type="submit">Start learning</button>
        <p role="alert">{error}</p>
      </form>
    </main>
  );
}

/** Learning, as far as this example does it: a button. */
function Practice() {
  const laurel = useLaurel();
  const [message, setMessage] = useState('');
  const flip = async () => {
    try {
      const { total } = await laurel.track('flashcards-flipped', 10);
      setMessage(`${total} cards so far.`);
    } catch {
      setMessage('The cards were not counted. Please try again.');
    }
  };
  return (
    <section className="panel practice" aria-labelledby="practice">
      <h2 id="practice">Practice</h2>
      <button type="button" onClick={() => void flip()}>
        Flip 10 cards
      </button>
      <p role="status">{message}</p>
    </section>
  );
}

function Home({ onSignOut }: { onSignOut: () => void }) {
  const { data: user } = useUser();
  return (
    <>
      <header>
        <h1>Flip</h1>
        <p>{user?.name}</p>
        <button type="button" className="quiet" onClick={onSignOut}>
          Sign out
        </button>
      </header>
      <main className="panels">
        <Practice />
        <StreakCalendar />
        <LeaderboardPanel leaderboard="flips-of-the-week" title="This week" />
        <PointsShop pointsSystem="xp" />
      </main>
      <AchievementToasts />
    </>
  );
}

function App() {
  /** Undefined until it is known, null if nobody is signed in. */
  const [laurel, setLaurel] = useState<Laurel | null>();
  useEffect(() => {
    call<Session | null>('GET', '/api/session').then(
      (session) => setLaurel(session && clientOf(session)),
      () => setLaurel(null),
    );
  }, []);
  const signOut = async () => {
    await call('DELETE', '/api/session');
    setLaurel(null);
  };
  if (laurel === undefined) return null;
  if (laurel === null) return <SignIn onSession={(session) => setLaurel(clientOf(session))} />;
  return (
    <LaurelProvider laurel={laurel}>
      <Home onSignOut={() => void signOut()} />
    </LaurelProvider>
  );
}

createRoot(document.getElementById('app')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
