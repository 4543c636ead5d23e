# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_larder_global_optspecs
    string join \n h/help V/version
end

function __fish_larder_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_larder_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_larder_using_subcommand
    set -l cmd (__fish_larder_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c larder -n "__fish_larder_needs_command" -s h -l help -d 'Print help'
complete -c larder -n "__fish_larder_needs_command" -s V -l version -d 'Print version'
complete -c larder -n "__fish_larder_needs_command" -f -a "serve" -d 'Serve clients that speak the protocol of Redis'
complete -c larder -n "__fish_larder_needs_command" -f -a "ping" -d 'Ask a server whether it is there; fails unless it answers PONG'
complete -c larder -n "__fish_larder_needs_command" -f -a "demo" -d 'Compare a plain cache with a tuned one on this machine, in under a minute'
complete -c larder -n "__fish_larder_needs_command" -f -a "replay" -d 'Send traces to live servers, cache-aside, and measure what the requests take'
complete -c larder -n "__fish_larder_needs_command" -f -a "simulate" -d 'Every policy at every size, in one pass over a trace'
complete -c larder -n "__fish_larder_needs_command" -f -a "curve" -d 'The miss ratio at every size, from one pass over a trace'
complete -c larder -n "__fish_larder_needs_command" -f -a "plan" -d 'Divide a memory among the tenants of a trace'
complete -c larder -n "__fish_larder_needs_command" -f -a "experiment" -d 'The papers\' experiments, in virtual time or live'
complete -c larder -n "__fish_larder_needs_command" -f -a "top" -d 'Watches a running server: who holds the memory, who waits, and why'
complete -c larder -n "__fish_larder_needs_command" -f -a "trace" -d 'Look into, convert and generate traces'
complete -c larder -n "__fish_larder_needs_command" -f -a "capture" -d 'Write what is asked of a live Redis, Valkey, memcached or Larder as a trace'
complete -c larder -n "__fish_larder_needs_command" -f -a "advise" -d 'Say what would make the clients of a cache wait less: another size, a division, or Larder'
complete -c larder -n "__fish_larder_needs_command" -f -a "attach" -d 'Steer a running memcached, Redis or Valkey from outside: watch it, plan, and act if told'
complete -c larder -n "__fish_larder_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c larder -n "__fish_larder_using_subcommand serve" -l json -d 'Print where it listens as one JSON document on the standard output, once it does'
complete -c larder -n "__fish_larder_using_subcommand serve" -l directives -d 'Print every directive with its default and what it means, and end'
complete -c larder -n "__fish_larder_using_subcommand serve" -s h -l help -d 'Print help'
complete -c larder -n "__fish_larder_using_subcommand ping" -l host -d 'Its host' -r
complete -c larder -n "__fish_larder_using_subcommand ping" -l port -d 'Its port' -r
complete -c larder -n "__fish_larder_using_subcommand ping" -l socket -d 'Its Unix socket, instead of host and port' -r -F
complete -c larder -n "__fish_larder_using_subcommand ping" -l user -d 'The user\'s name, if a password is given' -r
complete -c larder -n "__fish_larder_using_subcommand ping" -l password -d 'The user\'s password; else what the environment has as LARDER_PASSWORD' -r
complete -c larder -n "__fish_larder_using_subcommand ping" -l timeout -d 'Seconds to wait for each step' -r
complete -c larder -n "__fish_larder_using_subcommand ping" -s h -l help -d 'Print help'
complete -c larder -n "__fish_larder_using_subcommand demo" -l seed -d 'Another seed makes other requests of the same kind' -r
complete -c larder -n "__fish_larder_using_subcommand demo" -l trace -d 'Serve this trace instead of the built-in tenants; given several times, each is a tenant, with penalties of 0.2, 0.4, 1 and 2 ms in order and from the first again' -r
complete -c larder -n "__fish_larder_using_subcommand demo" -l seconds -d 'How long it takes' -r
complete -c larder -n "__fish_larder_using_subcommand demo" -l requests -d 'Requests in each of the two runs, instead of a time' -r
complete -c larder -n "__fish_larder_using_subcommand demo" -l memory -d 'Memory of the cache [default: four tenths of what is ever asked for; of traces a third]' -r
complete -c larder -n "__fish_larder_using_subcommand demo" -l json -d 'Print one JSON document at the end; progress goes to standard error'
complete -c larder -n "__fish_larder_using_subcommand demo" -s h -l help -d 'Print help'
complete -c larder -n "__fish_larder_using_subcommand replay" -l to -d 'The server: redis://[user:password@]host[:port][/db] or memcached://[user:password@]host[:port]; given several times the servers are compared, each gets every request' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l rounds -d 'The whole run so many times, every second time in the opposite order: medians and ranges are shown' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l connections -d 'Connections of each tenant' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l depth -d 'Requests a connection sends at once, before it reads the replies' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l rate-max -d 'Closed loop, but never ahead of this many requests a second in all' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l burst -d 'With --rate-max: so many requests of the run are due at once' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l open-loop -d 'Send this many requests a second, whatever the server does; latencies count from the intended times' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l speed -d 'Send at the times of the traces, this many times faster; latencies count from these times' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l warmup -d 'Share of the requests, from the first, that warm the cache up and are not counted' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l tenants -d 'Whose the requests are' -r -f -a "trace\t'Each trace is a tenant'
client-id\t'Each client of the one trace is a tenant'"
complete -c larder -n "__fish_larder_using_subcommand replay" -l names -d 'Names of the tenants in order, instead of the words of the trace or t1, t2 and so on' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l namespace -d 'How the keys of tenants are kept apart' -r -f -a "prefix\t'By a prefix: the name of the tenant and a colon'
db\t'By database: that of the URL for the first tenant, the next for the second'
none\t'Not at all: keys are sent as they are in the trace'"
complete -c larder -n "__fish_larder_using_subcommand replay" -l backend -d 'What is asked on a miss: postgres://USER@HOST/DB, mysql://USER@HOST/DB, sqlite:PATH, file:PATH, delay:TIME, or a database and delays with commas between. Given several times: for the tenants in order, and from the first again [default: delay:0]' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l pool -d 'Connections to each database server, shared by all that ask it' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l seed -d 'Reproduces the waits of the backends' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l format -d 'Format of the trace, where neither its first bytes nor its name tell; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l columns -d 'Names of the columns, comma separated, for --format columns; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l separator -d 'What stands between two columns: a character, or `tab` or `space`' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l value-size -d 'Bytes of a value where the trace does not say' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l charge -d 'What the cache is charged for an object' -r -f -a "value\t'Its value: what other simulators charge'
item\t'The item with its key and its header, rounded up: what the store charges'"
complete -c larder -n "__fish_larder_using_subcommand replay" -l skip -d 'Pass over so many requests first' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l limit -d 'Read no more than this many requests' -r
complete -c larder -n "__fish_larder_using_subcommand replay" -l at-once -d 'All servers at the same time, instead of in turn'
complete -c larder -n "__fish_larder_using_subcommand replay" -l flush -d 'Empty each server before each of its runs: FLUSHALL, flush_all'
complete -c larder -n "__fish_larder_using_subcommand replay" -l closed-loop -d 'Each connection sends its next request when it has the last answer (the default)'
complete -c larder -n "__fish_larder_using_subcommand replay" -l tell-costs -d 'Writes that fill a miss say what the backend took, SET key value COST µs, as a client does that knows; for Larder'
complete -c larder -n "__fish_larder_using_subcommand replay" -l prepare -d 'Only put the objects of the traces into the databases of the backends'
complete -c larder -n "__fish_larder_using_subcommand replay" -l json -d 'Print one JSON document'
complete -c larder -n "__fish_larder_using_subcommand replay" -l ignore-size -d 'Charge one for every object: sizes are then numbers of objects'
complete -c larder -n "__fish_larder_using_subcommand replay" -l skip-bad -d 'Count malformed records and go on, instead of ending at the first; a trace that is cut off ends there'
complete -c larder -n "__fish_larder_using_subcommand replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c larder -n "__fish_larder_using_subcommand simulate" -l policy -d 'Policies, comma separated; parameters follow with colons: klru:k=16:pool=16' -r
complete -c larder -n "__fish_larder_using_subcommand simulate" -l size -d 'Sizes of the cache, comma separated: bytes, or per cent of the footprint' -r
complete -c larder -n "__fish_larder_using_subcommand simulate" -l recipe -d 'Recipes instead of policies, comma separated: the server\'s pilot in virtual time. The traces are its tenants; of a single one the clients are' -r
complete -c larder -n "__fish_larder_using_subcommand simulate" -l penalty -d 'Cost of a miss, with --recipe: of one tenant (web=2ms) or of all (0.5ms)' -r
complete -c larder -n "__fish_larder_using_subcommand simulate" -l read-size -d 'What a read does that shows another size than is stored' -r -f -a "new\t'The new one: the trace does not show the write between'
first\t'The one it came with, until it is written or leaves: libCacheSim\'s way'"
complete -c larder -n "__fish_larder_using_subcommand simulate" -l seed -d 'Reproduces the run' -r
complete -c larder -n "__fish_larder_using_subcommand simulate" -l interval -d 'The miss ratio over time as well: one figure for every N requests' -r
complete -c larder -n "__fish_larder_using_subcommand simulate" -l threads -d 'Simulate on this many cores; without it on all' -r
complete -c larder -n "__fish_larder_using_subcommand simulate" -l html -d 'Write a page with charts and tables' -r -F
complete -c larder -n "__fish_larder_using_subcommand simulate" -l format -d 'Format of the trace, where neither its first bytes nor its name tell; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand simulate" -l columns -d 'Names of the columns, comma separated, for --format columns; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand simulate" -l separator -d 'What stands between two columns: a character, or `tab` or `space`' -r
complete -c larder -n "__fish_larder_using_subcommand simulate" -l value-size -d 'Bytes of a value where the trace does not say' -r
complete -c larder -n "__fish_larder_using_subcommand simulate" -l charge -d 'What the cache is charged for an object' -r -f -a "value\t'Its value: what other simulators charge'
item\t'The item with its key and its header, rounded up: what the store charges'"
complete -c larder -n "__fish_larder_using_subcommand simulate" -l skip -d 'Pass over so many requests first' -r
complete -c larder -n "__fish_larder_using_subcommand simulate" -l limit -d 'Read no more than this many requests' -r
complete -c larder -n "__fish_larder_using_subcommand simulate" -l tenant -d 'Tell the tenants of the trace apart: they share the cache, and are counted each'
complete -c larder -n "__fish_larder_using_subcommand simulate" -l json -d 'Print one JSON document: an array of results'
complete -c larder -n "__fish_larder_using_subcommand simulate" -l csv -d 'Print comma-separated values'
complete -c larder -n "__fish_larder_using_subcommand simulate" -l ignore-size -d 'Charge one for every object: sizes are then numbers of objects'
complete -c larder -n "__fish_larder_using_subcommand simulate" -l skip-bad -d 'Count malformed records and go on, instead of ending at the first; a trace that is cut off ends there'
complete -c larder -n "__fish_larder_using_subcommand simulate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l model -d 'Models, comma separated; `list` names them' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l k -d 'Candidates of an eviction, comma separated, for models of K-LRU' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l policy -d 'Policies, comma separated, for `exact` and `miniature`; without it K-LRU' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l rate -d 'Share of the keys to watch, or `auto` for one that keeps 8192 keys; comma separated' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l keys-max -d 'Keys to watch at most: the rate falls as more come' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l interval -d 'Draw and compare the curves of every so many requests, each by itself, and report the mean' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l against -d 'Compare with this model at rate 1 and give the mean absolute error: `exact` simulates' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l seed -d 'Reproduces the run; another seed watches other keys. Comma separated' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l part -d 'Watch this part of the keys, such as 1/4; parts add up by `larder curve merge`' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l state -d 'Write what was counted to a file, for `larder curve merge`' -r -F
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l sizes -d 'Sizes to report, spread evenly up to all bytes that the trace touches' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l goal -d 'How much memory for a miss ratio of at most this, such as 5%' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l at -d 'The miss ratio of a cache of this size, and what one step more buys' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l step -d 'The step of --at' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l html -d 'Write a page with all curves on one chart' -r -F
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l format -d 'Format of the trace, where neither its first bytes nor its name tell; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l columns -d 'Names of the columns, comma separated, for --format columns; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l separator -d 'What stands between two columns: a character, or `tab` or `space`' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l value-size -d 'Bytes of a value where the trace does not say' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l charge -d 'What the cache is charged for an object' -r -f -a "value\t'Its value: what other simulators charge'
item\t'The item with its key and its header, rounded up: what the store charges'"
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l skip -d 'Pass over so many requests first' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l limit -d 'Read no more than this many requests' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l pool -d 'Evictions keep a pool of 16 candidates, as Redis does'
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l bands -d 'Give a band of two standard errors of sampling to either side, from eight parts of the keys'
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l json -d 'Print one JSON document'
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l ignore-size -d 'Charge one for every object: sizes are then numbers of objects'
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -l skip-bad -d 'Count malformed records and go on, instead of ending at the first; a trace that is cut off ends there'
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -a "merge" -d 'Add up what was counted of parts of the keys, and draw the curve of all'
complete -c larder -n "__fish_larder_using_subcommand curve; and not __fish_seen_subcommand_from merge help" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c larder -n "__fish_larder_using_subcommand curve; and __fish_seen_subcommand_from merge" -l state -d 'Write the sum to a file, which may be merged again' -r -F
complete -c larder -n "__fish_larder_using_subcommand curve; and __fish_seen_subcommand_from merge" -l sizes -d 'Sizes to report, spread evenly up to all bytes that the trace touches' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and __fish_seen_subcommand_from merge" -l goal -d 'How much memory for a miss ratio of at most this, such as 5%' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and __fish_seen_subcommand_from merge" -l at -d 'The miss ratio of a cache of this size, and what one step more buys' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and __fish_seen_subcommand_from merge" -l step -d 'The step of --at' -r
complete -c larder -n "__fish_larder_using_subcommand curve; and __fish_seen_subcommand_from merge" -l html -d 'Write a page with all curves on one chart' -r -F
complete -c larder -n "__fish_larder_using_subcommand curve; and __fish_seen_subcommand_from merge" -l json -d 'Print one JSON document'
complete -c larder -n "__fish_larder_using_subcommand curve; and __fish_seen_subcommand_from merge" -s h -l help -d 'Print help'
complete -c larder -n "__fish_larder_using_subcommand curve; and __fish_seen_subcommand_from help" -f -a "merge" -d 'Add up what was counted of parts of the keys, and draw the curve of all'
complete -c larder -n "__fish_larder_using_subcommand curve; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c larder -n "__fish_larder_using_subcommand plan" -l memory -d 'Memory to divide: a size, or a share of all bytes that the traces touch, such as 10%' -r
complete -c larder -n "__fish_larder_using_subcommand plan" -l recipe -d 'How to divide it, as `recipe` in the configuration' -r
complete -c larder -n "__fish_larder_using_subcommand plan" -l penalty -d 'Cost of a miss: of one tenant (web=2ms) or of all (0.5ms); us, ms and s are known' -r
complete -c larder -n "__fish_larder_using_subcommand plan" -l weight -d 'How much the misses of a tenant count, 1 where nothing is said' -r
complete -c larder -n "__fish_larder_using_subcommand plan" -l min -d 'Memory a tenant must have' -r
complete -c larder -n "__fish_larder_using_subcommand plan" -l max -d 'Memory a tenant may have at most' -r
complete -c larder -n "__fish_larder_using_subcommand plan" -l objective -d 'What to minimise: latency (time waited for misses) or hits (hits lost)' -r
complete -c larder -n "__fish_larder_using_subcommand plan" -l seed -d 'Reproduces the run' -r
complete -c larder -n "__fish_larder_using_subcommand plan" -l html -d 'Write a page with charts and tables' -r -F
complete -c larder -n "__fish_larder_using_subcommand plan" -l format -d 'Format of the trace, where neither its first bytes nor its name tell; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand plan" -l columns -d 'Names of the columns, comma separated, for --format columns; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand plan" -l separator -d 'What stands between two columns: a character, or `tab` or `space`' -r
complete -c larder -n "__fish_larder_using_subcommand plan" -l value-size -d 'Bytes of a value where the trace does not say' -r
complete -c larder -n "__fish_larder_using_subcommand plan" -l charge -d 'What the cache is charged for an object' -r -f -a "value\t'Its value: what other simulators charge'
item\t'The item with its key and its header, rounded up: what the store charges'"
complete -c larder -n "__fish_larder_using_subcommand plan" -l skip -d 'Pass over so many requests first' -r
complete -c larder -n "__fish_larder_using_subcommand plan" -l limit -d 'Read no more than this many requests' -r
complete -c larder -n "__fish_larder_using_subcommand plan" -l json -d 'Print one JSON document'
complete -c larder -n "__fish_larder_using_subcommand plan" -l ignore-size -d 'Charge one for every object: sizes are then numbers of objects'
complete -c larder -n "__fish_larder_using_subcommand plan" -l skip-bad -d 'Count malformed records and go on, instead of ending at the first; a trace that is cut off ends there'
complete -c larder -n "__fish_larder_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c larder -n "__fish_larder_using_subcommand experiment" -l seed -d 'The first seed' -r
complete -c larder -n "__fish_larder_using_subcommand experiment" -l seeds -d 'Runs with so many seeds, one after the other; 3, or 1 with --quick' -r
complete -c larder -n "__fish_larder_using_subcommand experiment" -l traces -d 'Folder with recorded traces, for the experiments that can use them; without it they make their workloads' -r -F
complete -c larder -n "__fish_larder_using_subcommand experiment" -l html -d 'Write a page with all tables' -r -F
complete -c larder -n "__fish_larder_using_subcommand experiment" -l peer -d 'A server to stand beside this one: redis=COMMAND, valkey=, memcached= or predis= (the server of pRedis\' authors). Those that are not named are left out' -r
complete -c larder -n "__fish_larder_using_subcommand experiment" -l near -d 'The near database, as a backend of `larder replay` [default: delay:200us]' -r
complete -c larder -n "__fish_larder_using_subcommand experiment" -l far -d 'The far database [default: delay:1ms]' -r
complete -c larder -n "__fish_larder_using_subcommand experiment" -l rounds -d 'Rounds, of which medians are told [default: 5, or 1 with --quick]' -r
complete -c larder -n "__fish_larder_using_subcommand experiment" -l quick -d 'Less of everything: done within a minute'
complete -c larder -n "__fish_larder_using_subcommand experiment" -l json -d 'Print one JSON document'
complete -c larder -n "__fish_larder_using_subcommand experiment" -l live -d 'With real servers and real waiting: this program, and the peers'
complete -c larder -n "__fish_larder_using_subcommand experiment" -s h -l help -d 'Print help'
complete -c larder -n "__fish_larder_using_subcommand top" -l every -d 'Seconds between two looks' -r
complete -c larder -n "__fish_larder_using_subcommand top" -l once -d 'Print one look as text and end; so it is too where the output is no terminal'
complete -c larder -n "__fish_larder_using_subcommand top" -l json -d 'Print one look as JSON and end'
complete -c larder -n "__fish_larder_using_subcommand top" -s h -l help -d 'Print help'
complete -c larder -n "__fish_larder_using_subcommand trace; and not __fish_seen_subcommand_from stat convert generate head sample help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c larder -n "__fish_larder_using_subcommand trace; and not __fish_seen_subcommand_from stat convert generate head sample help" -f -a "stat" -d 'Print what a trace holds'
complete -c larder -n "__fish_larder_using_subcommand trace; and not __fish_seen_subcommand_from stat convert generate head sample help" -f -a "convert" -d 'Write a trace in another format'
complete -c larder -n "__fish_larder_using_subcommand trace; and not __fish_seen_subcommand_from stat convert generate head sample help" -f -a "generate" -d 'Write a made trace'
complete -c larder -n "__fish_larder_using_subcommand trace; and not __fish_seen_subcommand_from stat convert generate head sample help" -f -a "head" -d 'Print the first requests of a trace'
complete -c larder -n "__fish_larder_using_subcommand trace; and not __fish_seen_subcommand_from stat convert generate head sample help" -f -a "sample" -d 'Keep all requests of some keys, chosen by their hash'
complete -c larder -n "__fish_larder_using_subcommand trace; and not __fish_seen_subcommand_from stat convert generate head sample help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from stat" -l format -d 'Format of the trace, where neither its first bytes nor its name tell; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from stat" -l columns -d 'Names of the columns, comma separated, for --format columns; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from stat" -l separator -d 'What stands between two columns: a character, or `tab` or `space`' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from stat" -l value-size -d 'Bytes of a value where the trace does not say' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from stat" -l charge -d 'What the cache is charged for an object' -r -f -a "value\t'Its value: what other simulators charge'
item\t'The item with its key and its header, rounded up: what the store charges'"
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from stat" -l skip -d 'Pass over so many requests first' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from stat" -l limit -d 'Read no more than this many requests' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from stat" -l quick -d 'Leave out the simulations that tell whether K matters'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from stat" -l json -d 'Print JSON'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from stat" -l ignore-size -d 'Charge one for every object: sizes are then numbers of objects'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from stat" -l skip-bad -d 'Count malformed records and go on, instead of ending at the first; a trace that is cut off ends there'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from stat" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from convert" -l to -d 'Format to write: compact, lcs, csv, columns or oracleGeneral; else the file\'s name tells' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from convert" -l format -d 'Format of the trace, where neither its first bytes nor its name tell; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from convert" -l columns -d 'Names of the columns, comma separated, for --format columns; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from convert" -l separator -d 'What stands between two columns: a character, or `tab` or `space`' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from convert" -l value-size -d 'Bytes of a value where the trace does not say' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from convert" -l charge -d 'What the cache is charged for an object' -r -f -a "value\t'Its value: what other simulators charge'
item\t'The item with its key and its header, rounded up: what the store charges'"
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from convert" -l skip -d 'Pass over so many requests first' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from convert" -l limit -d 'Read no more than this many requests' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from convert" -l json -d 'Print what was written as JSON'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from convert" -l ignore-size -d 'Charge one for every object: sizes are then numbers of objects'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from convert" -l skip-bad -d 'Count malformed records and go on, instead of ending at the first; a trace that is cut off ends there'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from convert" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from generate" -s h -l help -d 'Print help'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from generate" -f -a "zipf" -d 'independent requests, popularity by Zipf\'s law'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from generate" -f -a "uniform" -d 'independent requests, all keys alike'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from generate" -f -a "loop" -d 'the same keys in the same order, again and again'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from generate" -f -a "scan" -d 'Zipf\'s law, disturbed by scans of keys asked for once'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from generate" -f -a "phases" -d 'one set of keys, a passage, another set: LAMA\'s three phases'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from generate" -f -a "two-phase" -d 'popular keys, then a loop: K must change (DLRU)'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from generate" -f -a "periodic" -d 'popular keys, a load with peaks and valleys'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from generate" -f -a "etc" -d 'Facebook\'s ETC pool: sizes, gaps and writes of Atikoglu et al.'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from generate" -f -a "ycsb" -d 'the core workloads of YCSB, A to F'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from generate" -f -a "mix" -d 'generators joined by time, a tenant each, at their rates'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from generate" -f -a "sequence" -d 'generators one after another'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from generate" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from head" -s n -l requests -d 'Requests to print' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from head" -l format -d 'Format of the trace, where neither its first bytes nor its name tell; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from head" -l columns -d 'Names of the columns, comma separated, for --format columns; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from head" -l separator -d 'What stands between two columns: a character, or `tab` or `space`' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from head" -l value-size -d 'Bytes of a value where the trace does not say' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from head" -l charge -d 'What the cache is charged for an object' -r -f -a "value\t'Its value: what other simulators charge'
item\t'The item with its key and its header, rounded up: what the store charges'"
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from head" -l skip -d 'Pass over so many requests first' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from head" -l limit -d 'Read no more than this many requests' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from head" -l json -d 'Print JSON'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from head" -l ignore-size -d 'Charge one for every object: sizes are then numbers of objects'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from head" -l skip-bad -d 'Count malformed records and go on, instead of ending at the first; a trace that is cut off ends there'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from head" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from sample" -l rate -d 'Share of the keys to keep, above 0 and at most 1' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from sample" -l seed -d 'Another seed keeps other keys' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from sample" -l format -d 'Format of the trace, where neither its first bytes nor its name tell; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from sample" -l columns -d 'Names of the columns, comma separated, for --format columns; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from sample" -l separator -d 'What stands between two columns: a character, or `tab` or `space`' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from sample" -l value-size -d 'Bytes of a value where the trace does not say' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from sample" -l charge -d 'What the cache is charged for an object' -r -f -a "value\t'Its value: what other simulators charge'
item\t'The item with its key and its header, rounded up: what the store charges'"
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from sample" -l skip -d 'Pass over so many requests first' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from sample" -l limit -d 'Read no more than this many requests' -r
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from sample" -l json -d 'Print what was written as JSON'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from sample" -l ignore-size -d 'Charge one for every object: sizes are then numbers of objects'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from sample" -l skip-bad -d 'Count malformed records and go on, instead of ending at the first; a trace that is cut off ends there'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from sample" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "stat" -d 'Print what a trace holds'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "convert" -d 'Write a trace in another format'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "generate" -d 'Write a made trace'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "head" -d 'Print the first requests of a trace'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "sample" -d 'Keep all requests of some keys, chosen by their hash'
complete -c larder -n "__fish_larder_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c larder -n "__fish_larder_using_subcommand capture" -l from -d 'The server: redis://[user:password@]host[:port], or memcached://host[:port]' -r
complete -c larder -n "__fish_larder_using_subcommand capture" -s o -l output -d 'The trace to write: with all columns as text, unless the name ends with .compact; packed where it ends with .zst' -r
complete -c larder -n "__fish_larder_using_subcommand capture" -l to -d 'Format to write instead: columns, compact, csv, lcs or oracleGeneral' -r
complete -c larder -n "__fish_larder_using_subcommand capture" -l for -d 'How long in all, pauses included' -r
complete -c larder -n "__fish_larder_using_subcommand capture" -l window -d 'How long at a time, or `all` for no pause' -r
complete -c larder -n "__fish_larder_using_subcommand capture" -l every -d 'From the start of one window to the start of the next' -r
complete -c larder -n "__fish_larder_using_subcommand capture" -l tenant -d 'Whose a key is, as in `larder serve`: \'web match prefix web:\', \'jobs match db 1\'; without any each database is a tenant' -r
complete -c larder -n "__fish_larder_using_subcommand capture" -l requests -d 'Record no more than this many requests' -r
complete -c larder -n "__fish_larder_using_subcommand capture" -l ask -d 'Ask for the sizes of at most this many keys that are only read, a thousand a second' -r
complete -c larder -n "__fish_larder_using_subcommand capture" -l json -d 'Print one JSON document'
complete -c larder -n "__fish_larder_using_subcommand capture" -s h -l help -d 'Print help'
complete -c larder -n "__fish_larder_using_subcommand advise" -l cluster -d 'A Larder of a cluster: all its nodes are asked, and their reports read as one' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l from -d 'What is asked of the cache: a server to watch (redis://HOST, memcached://HOST), or a trace' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l memory -d 'The memory there is now; a server says it itself' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l penalty -d 'Cost of a miss, instead of what was measured: of one tenant (web=2ms) or of all (0.5ms)' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l html -d 'Write a page with charts and tables' -r -F
complete -c larder -n "__fish_larder_using_subcommand advise" -l seed -d 'Reproduces the run' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l for -d 'How long in all, pauses included' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l window -d 'How long at a time, or `all` for no pause' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l every -d 'From the start of one window to the start of the next' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l tenant -d 'Whose a key is, as in `larder serve`: \'web match prefix web:\', \'jobs match db 1\'; without any each database is a tenant' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l requests -d 'Record no more than this many requests' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l ask -d 'Ask for the sizes of at most this many keys that are only read, a thousand a second' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l format -d 'Format of the trace, where neither its first bytes nor its name tell; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l columns -d 'Names of the columns, comma separated, for --format columns; --help lists them' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l separator -d 'What stands between two columns: a character, or `tab` or `space`' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l value-size -d 'Bytes of a value where the trace does not say' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l charge -d 'What the cache is charged for an object' -r -f -a "value\t'Its value: what other simulators charge'
item\t'The item with its key and its header, rounded up: what the store charges'"
complete -c larder -n "__fish_larder_using_subcommand advise" -l skip -d 'Pass over so many requests first' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l limit -d 'Read no more than this many requests' -r
complete -c larder -n "__fish_larder_using_subcommand advise" -l json -d 'Print one JSON document'
complete -c larder -n "__fish_larder_using_subcommand advise" -l ignore-size -d 'Charge one for every object: sizes are then numbers of objects'
complete -c larder -n "__fish_larder_using_subcommand advise" -l skip-bad -d 'Count malformed records and go on, instead of ending at the first; a trace that is cut off ends there'
complete -c larder -n "__fish_larder_using_subcommand advise" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c larder -n "__fish_larder_using_subcommand attach" -l recipe -d 'How: lama or rankcache, with settings such as lama:move=0.05 or rankcache:planner=psa (automove, automove_former, facebook, twemcache, cachelib); of a Redis or Valkey dlru' -r
complete -c larder -n "__fish_larder_using_subcommand attach" -l window -d 'How long the server is watched at a time' -r
complete -c larder -n "__fish_larder_using_subcommand attach" -l every -d 'From the start of one window to that of the next; 60s, or 1s where a recipe only counts' -r
complete -c larder -n "__fish_larder_using_subcommand attach" -l for -d 'End by itself after so long; without it Ctrl-C ends it' -r
complete -c larder -n "__fish_larder_using_subcommand attach" -l http -d 'Serve the dashboard, /metrics and /report.json there, as 127.0.0.1:9380: to whoever reaches it, for there are no passwords' -r
complete -c larder -n "__fish_larder_using_subcommand attach" -l act -d 'Move pages, or set what is to be set; without it nothing is changed, and the plan is shown'
complete -c larder -n "__fish_larder_using_subcommand attach" -l dry-run -d 'Only show the plan, which is so without --act anyway'
complete -c larder -n "__fish_larder_using_subcommand attach" -l act-before-1-6-43 -d 'Act on a memcached before 1.6.43, too: one that moves pages could crash there'
complete -c larder -n "__fish_larder_using_subcommand attach" -l json -d 'Print an object a line: one for each epoch, and one for whatever else happens'
complete -c larder -n "__fish_larder_using_subcommand attach" -s h -l help -d 'Print help'
complete -c larder -n "__fish_larder_using_subcommand help; and not __fish_seen_subcommand_from serve ping demo replay simulate curve plan experiment top trace capture advise attach help" -f -a "serve" -d 'Serve clients that speak the protocol of Redis'
complete -c larder -n "__fish_larder_using_subcommand help; and not __fish_seen_subcommand_from serve ping demo replay simulate curve plan experiment top trace capture advise attach help" -f -a "ping" -d 'Ask a server whether it is there; fails unless it answers PONG'
complete -c larder -n "__fish_larder_using_subcommand help; and not __fish_seen_subcommand_from serve ping demo replay simulate curve plan experiment top trace capture advise attach help" -f -a "demo" -d 'Compare a plain cache with a tuned one on this machine, in under a minute'
complete -c larder -n "__fish_larder_using_subcommand help; and not __fish_seen_subcommand_from serve ping demo replay simulate curve plan experiment top trace capture advise attach help" -f -a "replay" -d 'Send traces to live servers, cache-aside, and measure what the requests take'
complete -c larder -n "__fish_larder_using_subcommand help; and not __fish_seen_subcommand_from serve ping demo replay simulate curve plan experiment top trace capture advise attach help" -f -a "simulate" -d 'Every policy at every size, in one pass over a trace'
complete -c larder -n "__fish_larder_using_subcommand help; and not __fish_seen_subcommand_from serve ping demo replay simulate curve plan experiment top trace capture advise attach help" -f -a "curve" -d 'The miss ratio at every size, from one pass over a trace'
complete -c larder -n "__fish_larder_using_subcommand help; and not __fish_seen_subcommand_from serve ping demo replay simulate curve plan experiment top trace capture advise attach help" -f -a "plan" -d 'Divide a memory among the tenants of a trace'
complete -c larder -n "__fish_larder_using_subcommand help; and not __fish_seen_subcommand_from serve ping demo replay simulate curve plan experiment top trace capture advise attach help" -f -a "experiment" -d 'The papers\' experiments, in virtual time or live'
complete -c larder -n "__fish_larder_using_subcommand help; and not __fish_seen_subcommand_from serve ping demo replay simulate curve plan experiment top trace capture advise attach help" -f -a "top" -d 'Watches a running server: who holds the memory, who waits, and why'
complete -c larder -n "__fish_larder_using_subcommand help; and not __fish_seen_subcommand_from serve ping demo replay simulate curve plan experiment top trace capture advise attach help" -f -a "trace" -d 'Look into, convert and generate traces'
complete -c larder -n "__fish_larder_using_subcommand help; and not __fish_seen_subcommand_from serve ping demo replay simulate curve plan experiment top trace capture advise attach help" -f -a "capture" -d 'Write what is asked of a live Redis, Valkey, memcached or Larder as a trace'
complete -c larder -n "__fish_larder_using_subcommand help; and not __fish_seen_subcommand_from serve ping demo replay simulate curve plan experiment top trace capture advise attach help" -f -a "advise" -d 'Say what would make the clients of a cache wait less: another size, a division, or Larder'
complete -c larder -n "__fish_larder_using_subcommand help; and not __fish_seen_subcommand_from serve ping demo replay simulate curve plan experiment top trace capture advise attach help" -f -a "attach" -d 'Steer a running memcached, Redis or Valkey from outside: watch it, plan, and act if told'
complete -c larder -n "__fish_larder_using_subcommand help; and not __fish_seen_subcommand_from serve ping demo replay simulate curve plan experiment top trace capture advise attach help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c larder -n "__fish_larder_using_subcommand help; and __fish_seen_subcommand_from curve" -f -a "merge" -d 'Add up what was counted of parts of the keys, and draw the curve of all'
complete -c larder -n "__fish_larder_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "stat" -d 'Print what a trace holds'
complete -c larder -n "__fish_larder_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "convert" -d 'Write a trace in another format'
complete -c larder -n "__fish_larder_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "generate" -d 'Write a made trace'
complete -c larder -n "__fish_larder_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "head" -d 'Print the first requests of a trace'
complete -c larder -n "__fish_larder_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "sample" -d 'Keep all requests of some keys, chosen by their hash'
